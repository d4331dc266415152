import Foundation
import LMDB
import LMDBCaching
import TestSupport

/// Replaces a bounded set of entries over and over, while readers come, die and linger.
///
/// LMDB's copy-on-write bounds the file: a commit reuses a page two commits later, unless an open snapshot is older.
/// So the file holds the live pages, and the changed pages of three commits and of every commit made under a snapshot.
/// A dead reader counts as a snapshot until its slot is freed, which is checked every second.
package struct ChurnTrial: Trial {
  package static let name = "churn"
  package static let summary =
    "Entries are replaced while readers die and linger: the file's size stays within its bound."
  package static let defaultCount = 3_000_000

  /// Pages outside the tree: LMDB's two meta pages, its free list, and changes to the cache's own records.
  private static let constantPages = 256
  /// How long a dead reader may hold its slot. The cache checks every second.
  private static let timeLimit = Duration.seconds(4)

  private let directory: String
  private let cache: LMDBCache
  private var random: SeededRandom
  private var report = TrialReport()
  private var written = [Int](repeating: 0, count: 2_000)
  /// The largest bound in pages so far, since a file never shrinks.
  private var bound = 0

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    let directory = settings.directory + "/cache"
    let cache = try TrialCache.open(directory) {
      $0.disk.groupCommitInterval = .milliseconds(20)
      $0.memory = .off
    }
    var trial = ChurnTrial(directory: directory, cache: cache, random: SeededRandom(settings.seed))
    for index in trial.written.indices { try trial.replace(index) }
    let rounds = min(24, max(1, settings.count / 50_000))
    for _ in 0..<rounds {
      try trial.churn(settings.count / 3 / rounds)
      try trial.checkSize("no reader lingers")
      try trial.churnUnderReaders(settings.count / 3 / rounds)
    }
    for index in trial.written.indices { try trial.look(index) }
    if cache.environment.runningReads != 0 { trial.report.fail("reads have not ended") }
    trial.report.count("commits", cache.statistics.commits)
    try cache.close()
    return trial.report
  }

  private mutating func replace(_ index: Int) throws {
    written[index] += 1
    // One value in fifty takes overflow pages.
    let size = index % 50 == 0 ? 3_000 + random.below(2_000) : 16 + random.below(900)
    try cache.set(WrittenValue(number: written[index]).text(key: "\(index)", size: size), forKey: "\(index)")
  }

  private mutating func look(_ index: Int) throws {
    let number = try CacheUser.number("\(index)", in: cache) ?? 0
    if number != written[index] { report.fail("entry \(index) is \(number), not \(written[index])") }
  }

  private mutating func churn(_ count: Int) throws {
    for number in 0..<count {
      try replace(random.below(written.count))
      if number % 64 == 0 { try look(random.below(written.count)) }
    }
    report.count("replacements", count)
  }

  /// - Parameter before: The number of commits when a snapshot was opened.
  private mutating func checkSize(_ title: String, since before: Int? = nil) throws {
    try cache.flush()
    let pinned = before.map { cache.statistics.commits - $0 + 1 } ?? 0
    let info = try cache.environment.info()
    let live = info.main.branchPages + info.main.leafPages + info.main.overflowPages
    bound = max(bound, live * (1 + 3 + pinned) + Self.constantPages)
    let size = info.lastPageNumber + 1
    if size > bound { report.fail("\(title): \(size) pages, not \(bound) at most; \(live) live, \(pinned) pinned") }
    report.countMost("pages, \(title): the most, in percent of the live ones", size * 100 / live)
  }

  /// Other processes hold snapshots: four are killed, one ends.
  private mutating func churnUnderReaders(_ count: Int) throws {
    let before = cache.statistics.commits
    let lingering = try reader()
    for _ in 0..<4 {
      let reader = try self.reader()
      try churn(count / 4)
      reader.kill()
      report.count("readers killed in a snapshot")
    }
    if lingering.run("end") != "same" { report.fail("a snapshot changed while it was held") }
    lingering.end()
    let start = ContinuousClock.now
    while ContinuousClock.now - start < Self.timeLimit {
      try churn(20)
      usleep(2_000)
    }
    // The cache must already have freed their slots.
    let dead = try cache.environment.checkReaders()
    if dead > 0 { report.fail("\(dead) places of dead readers are still taken after \(Self.timeLimit)") }
    try checkSize("readers lingered and died", since: before)
    let end = try cache.environment.info().lastPageNumber
    try churn(count)
    try cache.flush()
    let later = try cache.environment.info().lastPageNumber
    if later > end { report.fail("the file grew from \(end) to \(later) pages after its readers had gone") }
  }

  private func reader() throws -> ChildProcess {
    let reader = try ChildProcess("soak", ["role", CacheUser.name])
    let opened = reader.run("open \(directory) \(Durability.ordered.rawValue)")
    guard opened == "ok", reader.run("hold") == "held" else {
      throw CacheError(.storageFailed, "a reader did not get its snapshot")
    }
    return reader
  }
}
