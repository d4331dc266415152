package import Foundation
package import LMDB
import Platform

/// Verifies caches without opening them.
package enum CacheInspection {
  package struct Report: Sendable {
    /// The database's file in one committed state; `nil` if others commit too fast to read it.
    package var file: VerifiedDataFile?
    /// Transactions committed during the read, whose writes were not verified.
    package var transactionsMeanwhile = 0
    /// Entries that were read one by one, including expired ones, with their values if those were to be checked.
    package var entries = 0
    /// The number of damaged entries, and the first errors.
    package var damagedEntries = 0
    package var damage: [CacheError] = []
    /// Journaled writes, which are among the entries but not in the file.
    package var pendingWrites = 0
    /// Descriptions of what could not be read.
    package var notices: [String] = []

    fileprivate static let greatestErrors = 100
  }

  /// Verifies the database of a cache as opening it would, without changing it.
  ///
  /// While others write, a state stays intact until their second commit; after that the read is retried. If all
  /// attempts fail, entries are read in small parts, each from its own state. That verifies the pages leading to
  /// entries, but neither the list of free pages nor that no entries are missing.
  ///
  /// - Parameters:
  ///   - checksValues: Whether to verify the checksums of all entries and values.
  ///   - isCancelled: Called before each entry; the report then covers the entries so far.
  /// - Returns: The findings; all counts are 0 for a directory without a database.
  /// - Throws: `.damagedDatabase`, with a `DataFileFinding` as `underlying` for structural damage; `.corruptedRecord`
  ///   for another kind of database; `.unsupportedVersion`; `.permissionDenied` and other read errors.
  package static func verify(directory: URL, checksValues: Bool = false, isCancelled: () -> Bool = { false }) throws
    -> Report
  {
    let path = directory.path
    let activity = "Verifying the cache in \(path)"
    var report = Report()
    let opened = try calling(activity) { () throws(SystemError) in try Directory(existing: path) }
    guard let opened else { return report }
    let check = SoundnessCheck(directory: opened, activity: activity)
    try check.requireBelievable()
    report.file = try check.examine(unlessMarkedSound: false)
    guard let reader = try CacheReader(directory: directory, isExamined: report.file != nil) else { return report }
    if checksValues {
      try reader.forEachRecord(selection: .all) { error in
        report.entries += 1
        report.damagedEntries += 1
        if report.damage.count < Report.greatestErrors { report.damage.append(error) }
      } _: { _ in
        report.entries += 1
        return !isCancelled()
      }
    } else if report.file == nil {
      try reader.forEachPage(all: true) { entries in
        report.entries += entries.count
        return true
      }
    }
    let figures = try reader.figures()
    if let file = report.file, figures.database.lastTransactionID > file.transactionID {
      report.transactionsMeanwhile = Int(clamping: figures.database.lastTransactionID - file.transactionID)
    }
    report.pendingWrites = figures.pendingWrites
    report.notices = reader.notices
    return report
  }
}

/// Totals of a cache's entries by key prefix, format, size and age, in memory bounded by the number of groups kept.
package struct EntryCensus: Sendable {
  package struct Group: Sendable, Equatable {
    package var entries = 0
    /// The size of the values.
    package var bytes = 0
    package var cost = 0

    mutating func add(_ entry: CacheEntry) {
      entries += 1
      bytes = bytes.addingClamped(entry.size)
      cost = cost.addingClamped(entry.cost)
    }

    mutating func add(_ other: Group) {
      entries = entries.addingClamped(other.entries)
      bytes = bytes.addingClamped(other.bytes)
      cost = cost.addingClamped(other.cost)
    }
  }

  /// Entries with the same prefix.
  package struct PrefixGroup: Sendable, Equatable {
    /// Ends with its separator; empty for keys without one.
    package var prefix: String
    package var group: Group
  }

  package struct Bucket: Sendable, Equatable {
    /// The greatest number counted here; `nil` for the last bucket.
    package let limit: Int?
    package var group = Group()
  }

  package private(set) var total = Group()
  package private(set) var formats: [ArchiveFormat: Group] = [:]
  /// By the values' sizes.
  package private(set) var sizes = Self.buckets(sizeLimits)
  /// By seconds since the write, and since the last recorded access.
  package private(set) var ages = Self.buckets(ageLimits)
  package private(set) var idleTimes = Self.buckets(ageLimits)
  /// The groups with the most bytes, largest first, and the total of the others. Set by ``end()``.
  package private(set) var prefixes: [PrefixGroup] = []
  package private(set) var otherPrefixes = Group()
  package private(set) var otherPrefixCount = 0

  private let depth: Int
  private let greatestPrefixes: Int
  private let now: Double
  /// The nested prefixes of the last key, starting with the empty one. Keys arrive in order, so others are complete.
  private var open: [PrefixGroup] = [PrefixGroup(prefix: "", group: Group())]
  private var complete: [ByteKey: Group] = [:]

  private static let sizeLimits = [0, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20]
  private static let ageLimits = [60, 3_600, 86_400, 7 * 86_400, 30 * 86_400, 365 * 86_400]
  /// A separator beyond this is part of the key's name.
  private static let greatestPrefix = 256

  init(depth: Int, greatestPrefixes: Int, at now: Date) {
    self.depth = max(0, depth)
    self.greatestPrefixes = max(1, greatestPrefixes)
    self.now = now.timeIntervalSince1970
  }

  private static func buckets(_ limits: [Int]) -> [Bucket] { limits.map { Bucket(limit: $0) } + [Bucket(limit: nil)] }

  mutating func add(_ entry: CacheEntry) {
    total.add(entry)
    formats[entry.format, default: Group()].add(entry)
    Self.add(entry, entry.size, to: &sizes)
    Self.add(entry, seconds(since: entry.created), to: &ages)
    Self.add(entry, seconds(since: entry.lastAccess), to: &idleTimes)
    addToPrefix(entry)
  }

  /// A clock that was set back puts entries in the future.
  private func seconds(since date: Date) -> Int { Int(max(0, min(1e12, now - date.timeIntervalSince1970))) }

  private static func add(_ entry: CacheEntry, _ number: Int, to buckets: inout [Bucket]) {
    let index = buckets.firstIndex { $0.limit.map { number <= $0 } ?? true } ?? buckets.count - 1
    buckets[index].group.add(entry)
  }

  // MARK: Prefixes

  private mutating func addToPrefix(_ entry: CacheEntry) {
    let key = entry.key.utf8
    while open.count > 1, !key.starts(with: open[open.count - 1].prefix.utf8) { close() }
    var end = open[open.count - 1].prefix.utf8.count
    while open.count <= depth {
      let rest = key.prefix(Self.greatestPrefix).dropFirst(end)
      guard let separator = rest.firstIndex(where: { $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }) else {
        break
      }
      let prefix = String(decoding: key[...separator], as: UTF8.self)
      end = prefix.utf8.count
      open.append(PrefixGroup(prefix: prefix, group: Group()))
    }
    open[open.count - 1].group.add(entry)
  }

  private mutating func close() {
    let last = open.removeLast()
    if last.group.entries == 0 { return }
    complete[ByteKey(last.prefix), default: Group()].add(last.group)
    if complete.count >= 2 * greatestPrefixes + 64 { forgetSmall() }
  }

  private mutating func forgetSmall() {
    let sorted = Self.sorted(complete)
    for group in sorted.dropFirst(greatestPrefixes) {
      otherPrefixes.add(group.group)
      otherPrefixCount += 1
      complete[ByteKey(group.prefix)] = nil
    }
  }

  private static func sorted(_ groups: [ByteKey: Group]) -> [PrefixGroup] {
    groups.map { PrefixGroup(prefix: $0.key.string, group: $0.value) }.sorted { first, second in
      first.group.bytes == second.group.bytes
        ? first.prefix.utf8.lexicographicallyPrecedes(second.prefix.utf8) : first.group.bytes > second.group.bytes
    }
  }

  mutating func end() {
    while open.count > 1 { close() }
    close()
    forgetSmall()
    prefixes = Self.sorted(complete)
    complete = [:]
  }
}

/// Checks whether a cache's database can be trusted, without changing it.
struct SoundnessCheck {
  let directory: Directory
  let activity: String

  /// Attempts to read a whole file while others write to it.
  private static let attempts = 4

  /// Reads the database unless it is marked sound.
  ///
  /// - Throws: `.damagedDatabase` for a database that cannot be trusted; `.unsupportedVersion`; `.corruptedRecord` for
  ///   another kind of database.
  func run() throws(CacheError) {
    try requireBelievable()
    if try !OpeningCheck.isMarkedSound(directory, activity) { _ = try examine(unlessMarkedSound: true) }
  }

  /// Throws for a cache with durability `.fast` that a system crash interrupted.
  func requireBelievable() throws(CacheError) {
    if try calling(activity, { () throws(SystemError) in try FastSession.isInterrupted(in: directory) }) {
      throw FastSession.untrusted(directory)
    }
  }

  /// Reads the whole file, again if more than one transaction was committed during it: the findings may then be false,
  /// because LMDB reuses pages that are free since the last commit but one.
  ///
  /// - Parameter unlessMarkedSound: Whether a mark by live processes, made just before they write, suffices.
  /// - Returns: `nil` without a file, and if others commit too fast to read it.
  /// - Throws: As ``run()``.
  func examine(unlessMarkedSound: Bool) throws(CacheError) -> VerifiedDataFile? {
    for _ in 0..<Self.attempts {
      let before = try lastTransaction()
      let examination = outcome { () throws(CacheError) in
        try DatabaseExamination(directory: directory, activity: activity)
      }
      if try lastTransaction() <= before + 1 { return try soundFile(examination.get()) }
      if unlessMarkedSound, try OpeningCheck.isMarkedSound(directory, activity) { break }
    }
    return nil
  }

  private func soundFile(_ examination: DatabaseExamination) throws(CacheError) -> VerifiedDataFile? {
    let (reason, finding): (String, DataFileFinding?)
    switch examination {
    case .sound(let file, _): return file
    case .newerVersion: throw Self.newerVersion(directory)
    case .damaged(let found): (reason, finding) = (found.description, found)
    case .wrongContents(let found): (reason, finding) = (found, nil)
    }
    guard try isKnownToBeCache() else { throw CacheDirectory.notACache(directory, reason) }
    throw OpeningCheck.damaged(directory, reason, underlying: finding)
  }

  static func newerVersion(_ directory: Directory) -> CacheError {
    CacheError(
      .unsupportedVersion,
      "\(directory.path) was written by a newer version of this package. Update; nothing was changed.")
  }

  /// Whether a file next to the database has the header of a cache's.
  private func isKnownToBeCache() throws(CacheError) -> Bool {
    let marks: [(name: String, isOurs: ([UInt8]) -> Bool)] = [
      (CleanExitMark.name, CleanExitMark.isOurs), (ProcessLock.name, ProcessRecord.isOurs),
      (FastSession.name, FastSession.isOurs),
    ]
    return try calling("Looking at \(directory.path)") { () throws(SystemError) in
      for mark in marks {
        guard let file = try directory.open(mark.name) else { continue }
        var beginning = [UInt8](repeating: 0, count: 8)
        if try file.read(&beginning), mark.isOurs(beginning) { return true }
      }
      return false
    }
  }

  /// Returns 0 without a readable file; the examination reports why.
  private func lastTransaction() throws(CacheError) -> UInt64 {
    do throws(DataFileError) {
      return try DataFileVerifier.checkMeta(directory: directory.pathForC)?.transactionID ?? 0
    } catch {
      guard case .unreadable(let error) = error else { return 0 }
      throw CacheError(error, during: activity)
    }
  }
}
