import ArgumentParser
import Foundation
import LMDB
import LMDBCaching

struct StatCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "stat", "Tells how many entries a cache holds, what they take up, and whether all of it can be seen.",
    """
    Without --prefixes nothing is scanned. Expired entries count until they are removed.

    --prefixes adds all live entries up by the beginnings of their keys (user: of user:42; with --depth 2 user:42: of \
    user:42:name), by format, size and age. Lists the beginnings with the most bytes, and the sum of the others.

    Examples:
      lmdb-cache stat --json --cache ./demo | jq .entries
      lmdb-cache stat --prefixes --depth 2 --cache ./demo

    Exits with 1 if something cannot be read, such as a damaged journal.
    """)

  @OptionGroup var option: CacheOption
  @Flag(help: "Adds the entries up by the beginnings of their keys, by format, size and age.") var prefixes = false
  @Option(help: "How many parts of a key, each of which ends with : or /, its beginning has. (default: 1)")
  var depth: Int?
  @Option(help: "How many beginnings are told of at most. (default: 20)") var top: Int?
  @Flag(help: "Writes an object.") var json = false

  func validate() throws {
    if let depth, !(1...64 ~= depth) { throw ValidationError("--depth is 1 to 64.") }
    if let top, !(1...100_000 ~= top) { throw ValidationError("--top is 1 to 100000.") }
    if !prefixes, depth != nil || top != nil { throw ValidationError("--depth and --top go with --prefixes.") }
  }

  func run() throws {
    let isHealthy = try option.withReader { reader in
      var report = try Report(reader)
      if prefixes {
        let contents = ContentSummary(try reader.census(depth: depth ?? 1, greatestPrefixes: top ?? 20))
        report.add("contents", contents)
        report.notes = contents.table
      }
      try report.write(json: json)
      return reader.notices.isEmpty
    }
    if !isHealthy { throw ExitStatus.negative.code }
  }
}

extension Report {
  /// The figures of a cache.
  init(_ reader: CacheReader) throws {
    self.init()
    let (figures, notices) = (try reader.figures(), reader.notices)
    let health = notices.isEmpty ? "healthy" : notices.joined(separator: "; ")
    let database = figures.database
    add("directory", reader.directory.path, "directory", Formatting.key(reader.directory.path))
    add("durability", figures.durability.map { "\($0)" } ?? "none yet", "durability")
    add("health", health, "health", Formatting.line(health))
    add("isHealthy", notices.isEmpty)
    add("entries", figures.entries, "entries")
    add("totalCost", figures.totalCost, "total cost")
    let isKnown = figures.bytesOnDisk != nil
    add("bytesOnDisk", figures.bytesOnDisk, "bytes on disk", isKnown ? nil : "not all may be looked at")
    add("liveBytes", figures.liveBytes, "  live")
    add("deadBytes", figures.deadBytes, "  dead")
    add("freeBytes", figures.freeBytes, "  free")
    addPages(database.lastPageNumber + 1, of: database.main.pageSize)
    addTree(
      "treeDepth", database.main.depth, branch: database.main.branchPages, leaf: database.main.leafPages,
      overflow: database.main.overflowPages)
    add("mapSize", database.mapSize, "map", "\(Formatting.grouped(database.mapSize)) bytes of address space")
    add("lastTransaction", database.lastTransactionID, "last transaction")
    let obstacle = figures.slotObstacle.map { "unknown: read without a slot, because \($0)" }
    add("readers", obstacle == nil ? database.readersInUse : nil, "reader slots used", obstacle)
    let oldest = OldestSnapshot(figures.readers, lastTransaction: database.lastTransactionID)
    add("oldestSnapshot", oldest, "oldest snapshot", oldest?.text)
    let isCounted = figures.countsPendingWrites
    add("countsPendingWrites", isCounted)
    add(
      "pendingWrites", figures.pendingWrites, figures.pendingWrites > 0 ? "waiting writes" : nil,
      Formatting.grouped(figures.pendingWrites) + (isCounted ? "" : ", which are not counted above"))
  }
}

/// The oldest open snapshot of any process: pages freed after it are not reused until it ends.
struct OldestSnapshot: Encodable {
  let process: Int32
  let transactionsBehind: UInt64
  let isSuspended: Bool

  /// `nil` if no snapshot is open.
  init?(_ readers: [Environment.Reader], lastTransaction last: UInt64) {
    guard let oldest = readers.min(by: { $0.transactionID < $1.transactionID }) else { return nil }
    process = oldest.process
    transactionsBehind = last > oldest.transactionID ? last - oldest.transactionID : 0
    isSuspended = LockHolder.isSuspended(oldest.process)
  }

  var text: String {
    "of process \(process)\(isSuspended ? ", which is suspended" : ""), "
      + "\(Formatting.grouped(transactionsBehind)) transactions behind"
  }
}

struct TrimCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "trim", "Removes expired entries, and the least used ones until a limit is kept.",
    """
    Several limits may be given; all are kept then. Returns when it is done. The database's file does not shrink, \
    but uses the space again.

    Example:
      lmdb-cache trim --count 10000 --age 86400 --cache ./demo
    """)

  @OptionGroup var option: CacheOption
  @OptionGroup var limits: TrimLimits

  func run() throws {
    try option.withExisting { cache, _ in
      let before = try cache.count
      // The number of removals is known only for a limit on the count.
      let total =
        limits.age == nil && limits.cost == nil && limits.creationAge == nil
        ? limits.count.map { max(0, before - $0) } : nil
      try Progress.during(of: total) {
        do { return max(0, before - (try cache.count)) } catch { return nil }
      } _: {
        try limits.trim(cache)
      }
    }
  }
}

struct TrimLimits: ParsableArguments, Equatable {
  @Option(help: ArgumentHelp("How many entries may stay.", valueName: "n")) var count: Int?
  @Option(help: ArgumentHelp("The greatest total cost; an entry's default is its bytes.", valueName: "bytes"))
  var cost: Int?
  @Option(help: ArgumentHelp("Removes entries whose last access is longer ago.", valueName: "seconds"))
  var age: Double?
  @Option(help: ArgumentHelp("Removes entries that were stored longer ago.", valueName: "seconds"))
  var creationAge: Double?

  init() {}

  init(count: Int?, cost: Int?, age: Double?) {
    (self.count, self.cost, self.age, creationAge) = (count, cost, age, nil)
  }

  func validate() throws {
    if count == nil && cost == nil && age == nil && creationAge == nil {
      throw ValidationError("Give --count, --cost, --age or --creation-age.")
    }
    if let count, count < 0 { throw ValidationError("--count is 0 or more.") }
    if let cost, cost < 0 { throw ValidationError("--cost is 0 or more.") }
    for (name, age) in [("--age", age), ("--creation-age", creationAge)] {
      if let age, !(age >= 0 && age < 1e10) { throw ValidationError("\(name) is a number of seconds, 0 or more.") }
    }
  }

  static func == (first: Self, second: Self) -> Bool {
    (first.count, first.cost, first.age, first.creationAge) == (
      second.count, second.cost, second.age, second.creationAge
    )
  }

  func trim(_ cache: LMDBCache) throws {
    if let creationAge { try cache.removeAll(.createdBefore(Date(timeIntervalSinceNow: -creationAge))) }
    if let age { try cache.trim(to: .age(.seconds(age))) }
    if let count { try cache.trim(to: .count(count)) }
    if let cost { try cache.trim(to: .cost(cost)) }
  }
}

struct ClearCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "clear", "Removes every entry, in every process that uses the cache.",
    """
    Example:
      lmdb-cache clear --cache ./demo
    """)

  @OptionGroup var option: CacheOption

  func run() throws { try option.withExisting { cache, _ in try cache.removeAll() } }
}
