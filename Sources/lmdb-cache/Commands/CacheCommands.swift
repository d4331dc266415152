import ArgumentParser
import Foundation
import LMDB
import LMDBCaching

struct StatCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stat",
    abstract: "Tells how many entries a cache holds, what they take up, and whether all of it can be seen.",
    discussion: """
      Without --prefixes nothing is scanned, so this is quick for caches of any size. Entries that have expired count \
      until they are removed.

      --prefixes goes through all live entries, and adds them up by the beginnings of their keys (user: of user:42; with \
      --depth 2 user:42: of user:42:name), by what they are stored as, by size and by age. It takes little memory, \
      however many there are: of the beginnings those with the most bytes are told, and the sum of the others.

      Examples:
        lmdb-cache stat --json --cache ./demo | jq .entries
        lmdb-cache stat --prefixes --depth 2 --cache ./demo

      Exits with 1 if something cannot be looked at, a journal that is damaged, say.

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption
  @Flag(help: "Adds the entries up by the beginnings of their keys, by format, size and age.") var prefixes = false
  @Option(help: "How many parts of a key, each of which ends with : or /, its beginning has. (default: 1)")
  var depth: Int?
  @Option(help: "How many beginnings are told of at most. (default: 20)") var top: Int?
  @Flag(help: "Writes an object.") var json = false

  private static let greatestTop = 100_000

  func validate() throws {
    if let depth, !(1...64 ~= depth) { throw ValidationError("--depth is 1 to 64.") }
    if let top, !(1...Self.greatestTop ~= top) { throw ValidationError("--top is 1 to \(Self.greatestTop).") }
    if !prefixes, depth != nil || top != nil { throw ValidationError("--depth and --top go with --prefixes.") }
  }

  func run() throws {
    let summary = try option.withReader { reader in
      var summary = try CacheSummary(of: reader)
      if prefixes {
        summary.contents = ContentSummary(try reader.census(depth: depth ?? 1, greatestPrefixes: top ?? 20))
      }
      return summary
    }
    try StandardOutput.write(json ? JSONOutput.encode(summary) + "\n" : summary.table)
    if !summary.isHealthy { throw ExitStatus.negative.code }
  }
}

/// The output of `stat`.
struct CacheSummary: Encodable {
  let directory: String
  let durability: String
  let entries: Int
  let totalCost: Int
  /// Absent in JSON if some files are not accessible.
  let bytesOnDisk: Int?
  /// Bytes of entries.
  let liveBytes: Int
  /// Unreferenced bytes in the value log.
  let deadBytes: Int
  /// Bytes free for the next entries.
  let freeBytes: Int
  let pageSize: Int
  /// Pages of the database's file, including free ones.
  let pages: Int
  let treeDepth: Int
  let branchPages: Int
  let leafPages: Int
  let overflowPages: Int
  /// Reserved address space, not disk space.
  let mapSize: Int
  let lastTransaction: UInt64
  /// Absent in JSON if unknown.
  let readers: Int?
  /// Absent in JSON if none is open or it is unknown.
  let oldestSnapshot: OldestSnapshot?
  /// Writes pending in journals of live or dead processes.
  let pendingWrites: Int
  /// Whether `entries` and `totalCost` include pending writes.
  let countsPendingWrites: Bool
  let isHealthy: Bool
  /// "healthy", or the problem.
  let health: String
  /// Absent in JSON if not requested.
  var contents: ContentSummary?

  init(of reader: CacheReader) throws {
    let figures = try reader.figures()
    directory = reader.directory.path
    durability = figures.durability.map { "\($0)" } ?? "none yet"
    entries = figures.entries
    totalCost = figures.totalCost
    bytesOnDisk = figures.bytesOnDisk
    (liveBytes, deadBytes, freeBytes) = (figures.liveBytes, figures.deadBytes, figures.freeBytes)
    let database = figures.database
    pageSize = database.pageSize
    pages = database.pages
    treeDepth = database.depth
    branchPages = database.branchPages
    leafPages = database.leafPages
    overflowPages = database.overflowPages
    mapSize = database.mapSize
    lastTransaction = database.transactionID
    readers = figures.readers?.slotsInUse
    oldestSnapshot = figures.readers.flatMap { OldestSnapshot($0.readers, lastTransaction: database.transactionID) }
    pendingWrites = figures.pendingWrites
    countsPendingWrites = figures.countsPendingWrites
    let notices = reader.notices
    isHealthy = notices.isEmpty
    health = notices.isEmpty ? "healthy" : notices.joined(separator: "; ")
  }

  var table: String {
    var table = TextTable([.left, .left])
    table.append(["directory", Formatting.key(directory)])
    table.append(["durability", durability])
    table.append(["health", Formatting.line(health)])
    table.append(["entries", Formatting.grouped(entries)])
    table.append(["total cost", Formatting.grouped(totalCost)])
    table.append(["bytes on disk", bytesOnDisk.map(Formatting.grouped) ?? "not all may be looked at"])
    table.append(["  live", Formatting.grouped(liveBytes)])
    table.append(["  dead", Formatting.grouped(deadBytes)])
    table.append(["  free", Formatting.grouped(freeBytes)])
    table.append(["pages", "\(Formatting.grouped(pages)) of \(Formatting.grouped(pageSize)) bytes"])
    table.append(["tree", Formatting.tree(levels: treeDepth, branchPages, leafPages, overflowPages)])
    table.append(["map", "\(Formatting.grouped(mapSize)) bytes of address space"])
    table.append(["last transaction", Formatting.grouped(lastTransaction)])
    if let readers { table.append(["reader slots used", Formatting.grouped(readers)]) }
    if let oldestSnapshot { table.append(["oldest snapshot", oldestSnapshot.text]) }
    if pendingWrites > 0 {
      let remark = countsPendingWrites ? "" : ", which are not counted above"
      table.append(["waiting writes", Formatting.grouped(pendingWrites) + remark])
    }
    return table.text + (contents?.table ?? "")
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
    commandName: "trim",
    abstract: "Removes expired entries, and the least used ones until a limit is kept.",
    discussion: """
      Several limits may be given; all are kept then. Returns when it is done. The database's file does not shrink, \
      but uses the space again.

      Example:
        lmdb-cache trim --count 10000 --age 86400 --cache ./demo

      \(ExitStatus.explanation)
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
      try ProgressWatch.during(of: total) {
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
    commandName: "clear",
    abstract: "Removes every entry, in every process that uses the cache.",
    discussion: """
      Example:
        lmdb-cache clear --cache ./demo

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption

  func run() throws {
    try option.withExisting { cache, _ in try cache.removeAll() }
  }
}
