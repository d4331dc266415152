import Foundation
import LMDB
import LMDBCaching
import TestSupport

/// Replaces a bounded set of entries over and over, while readers come, die and linger.
///
/// LMDB's copy-on-write bounds the file: a commit reuses a page two commits later, unless an open snapshot is older.
/// So the file holds the live pages, and the changed pages of three commits and of every commit made under a snapshot.
/// A dead reader counts as a snapshot until its slot is freed, which is checked every second.
package enum ChurnTrial: Trial {
  package static let name = "churn"
  package static let summary =
    "Entries are replaced while readers die and linger: the file's size stays within its bound."
  package static let defaultCount = 3_000_000

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    let rounds = min(12, max(1, settings.count / 100_000))
    for (index, durability) in [Durability.fast, .ordered].enumerated() {
      var session = try Session(settings.directory + "/\(durability)", durability, settings.seed &+ UInt64(index))
      let share = settings.count / 6 / rounds
      for _ in 0..<rounds {
        try session.churn(share)
        try session.checkSize("no reader lingers")
        try session.churnUnderReaders(share)
      }
      try session.end()
      for figure in session.report.figures { report.count(figure.name, figure.value) }
      for failure in session.report.failures { report.fail("\(durability): \(failure)") }
    }
    return report
  }

  private static func open(_ directory: String, _ durability: Durability) throws -> LMDBCache {
    try TrialCache.open(directory) {
      $0.durability = durability
      $0.disk.groupCommitInterval = .milliseconds(20)
      $0.disk.mapSize = 4 << 30
      $0.disk.journalSize = 4 << 20
      $0.memory = .off
    }
  }

  private struct Session {
    private let directory: String
    private let durability: Durability
    private let cache: LMDBCache
    private var random: SeededRandom
    private var written = [Int](repeating: 0, count: 2_000)
    private(set) var report = TrialReport()
    /// The largest bound in pages so far, since a file never shrinks.
    private var bound = 0

    /// Pages outside the tree: LMDB's two meta pages, its free list, and changes to the cache's own records.
    private static let constantPages = 256
    /// How long a dead reader may hold its slot. The cache checks every second.
    private static let timeLimit = Duration.seconds(4)

    init(_ directory: String, _ durability: Durability, _ seed: UInt64) throws {
      self.directory = directory
      self.durability = durability
      random = SeededRandom(seed)
      cache = try ChurnTrial.open(directory, durability)
      for index in written.indices { try replace(index) }
      try cache.flush()
    }

    private mutating func replace(_ index: Int) throws {
      written[index] += 1
      // One value in fifty takes overflow pages.
      let size = index % 50 == 0 ? 3_000 + random.below(2_000) : 16 + random.below(900)
      let value = WrittenValue(number: written[index]).text(key: "\(index)", size: size)
      try cache.set(value, forKey: "\(index)")
    }

    mutating func churn(_ count: Int) throws {
      for number in 0..<count {
        try replace(random.below(written.count))
        if number % 64 == 0 { try look(random.below(written.count)) }
      }
      report.count("replacements", count)
    }

    private mutating func look(_ index: Int) throws {
      let number = try CacheUser.number("\(index)", in: cache) ?? 0
      if number != written[index] { report.fail("entry \(index) is \(number), not \(written[index])") }
      report.count("reads")
    }

    /// - Parameter before: The number of commits when a snapshot was opened.
    mutating func checkSize(_ title: String, since before: Int? = nil) throws {
      try cache.flush()
      let pinned = before.map { cache.statistics.commits - $0 + 1 } ?? 0
      let info = try cache.environment.info()
      let live = info.main.branchPages + info.main.leafPages + info.main.overflowPages
      bound = max(bound, live * (1 + 3 + pinned) + Self.constantPages)
      let size = info.lastPageNumber + 1
      if size > bound { report.fail("\(title): \(size) pages, not \(bound) at most; \(live) live, \(pinned) pinned") }
      report.countMost("pages, \(durability), \(title): the most, in percent of the live ones", size * 100 / live)
    }

    private func reader() throws -> ChildProcess {
      let reader = try ChildProcess("soak", ["role", ChurnTrial.name, directory, "\(durability.rawValue)"])
      if reader.readLine() != "held" { throw CacheError(.storageFailed, "a reader did not get its snapshot") }
      return reader
    }

    /// Other processes hold snapshots: four are killed, one ends.
    mutating func churnUnderReaders(_ count: Int) throws {
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
      report.count("readers that lingered")
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

    mutating func end() throws {
      for index in written.indices { try look(index) }
      if cache.environment.runningReads != 0 { report.fail("reads have not ended") }
      report.count("commits", cache.statistics.commits)
      try cache.close()
    }
  }
}

/// Holds a snapshot until it gets a line or is killed, then reports whether the snapshot stayed the same.
extension ChurnTrial: TrialRole {
  package static func run(_ arguments: [String]) throws {
    let cache = try open(arguments[0], Durability(rawValue: UInt8(arguments[1])!)!)
    try cache.read { snapshot in
      let before = try contents(of: snapshot)
      answer("held")
      _ = readLine()
      answer(try contents(of: snapshot) == before ? "same" : "changed")
    }
    try cache.close()
  }

  private static func contents(of snapshot: borrowing CacheSnapshot) throws -> [String?] {
    var contents: [String?] = []
    for index in 0..<50 { contents.append(try snapshot.value(String.self, forKey: "\(index)")) }
    return contents
  }
}
