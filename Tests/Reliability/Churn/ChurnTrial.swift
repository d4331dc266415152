import Foundation
import LMDB
import LMDBCaching
import Logging
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

  static let keys = 2_000
  static func key(_ index: Int) -> String { "entry/\(index)" }

  static func configuration(durability: String) -> CacheConfiguration {
    var configuration = CacheConfiguration()
    configuration.durability = Durability(rawValue: UInt8(durability)!)!
    configuration.disk.groupCommitInterval = .milliseconds(20)
    configuration.disk.mapSize = 4 << 30
    configuration.disk.journalSize = 4 << 20
    configuration.logger = Logger(label: "trial", factory: { _ in SwiftLogNoOpLogHandler() })
    return configuration
  }

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    let rounds = min(12, max(1, settings.count / 100_000))
    for (index, durability) in [Durability.fast, .ordered].enumerated() {
      let share = settings.count / 2 / rounds
      let session = try ChurnSession(
        settings.directory + "/\(durability)", durability, settings.seed &+ UInt64(index))
      for _ in 0..<rounds {
        try session.churnQuietly(share / 4, &report)
        try session.churnUnderLingeringReader(share / 4, &report)
        try session.killReaders(share / 4, &report)
        try session.churnQuietly(share - share / 4 * 3, &report)
      }
      try session.end(&report)
    }
    return report
  }
}

final class ChurnSession {
  private let directory: String
  private let durability: Durability
  private let cache: LMDBCache
  private var random: SeededRandom
  private var written: [Int] = Array(repeating: 0, count: ChurnTrial.keys)
  /// The largest bound in pages so far, since a file never shrinks.
  private var bound = 0

  /// Pages outside the tree: LMDB's two meta pages, its free list, and changes to the cache's own records.
  private static let constantPages = 256
  /// How long a dead reader may hold its slot, in seconds. The cache checks every second.
  private static let timeLimit = 4.0

  init(_ directory: String, _ durability: Durability, _ seed: UInt64) throws {
    self.directory = directory
    self.durability = durability
    random = SeededRandom(seed)
    cache = try LMDBCache(
      directory: URL(fileURLWithPath: directory),
      configuration: ChurnTrial.configuration(durability: String(durability.rawValue)).withoutMemory)
    for index in 0..<ChurnTrial.keys { try replace(index) }
    try cache.flush()
  }

  private func replace(_ index: Int) throws {
    written[index] += 1
    // One value in fifty takes overflow pages.
    let size = index % 50 == 0 ? 3_000 + random.below(2_000) : 16 + random.below(900)
    var value = Data(repeating: UInt8(truncatingIfNeeded: written[index]), count: size)
    value.withUnsafeMutableBytes { $0.storeBytes(of: written[index], as: Int.self) }
    try cache.set(value, forKey: ChurnTrial.key(index))
  }

  private func churn(_ count: Int, _ report: inout TrialReport) throws {
    for number in 0..<count {
      try replace(random.below(ChurnTrial.keys))
      if number % 64 == 0 { try look(random.below(ChurnTrial.keys), &report) }
    }
    report.count("replacements", count)
  }

  private func look(_ index: Int, _ report: inout TrialReport) throws {
    let found = try cache.value(Data.self, forKey: ChurnTrial.key(index))
    let number = found?.withUnsafeBytes { $0.loadUnaligned(as: Int.self) }
    if number != written[index] { report.fail("entry \(index) is \(number ?? 0), not \(written[index])") }
    report.count("reads")
  }

  private var commits: Int { cache.statistics.commits }

  /// - Parameter pinned: Commits made while a snapshot was open.
  private func checkSize(_ title: String, pinned: Int = 0, _ report: inout TrialReport) throws {
    try cache.flush()
    let info = try cache.environment.info()
    let live = info.main.branchPages + info.main.leafPages + info.main.overflowPages
    bound = max(bound, live * (1 + 3 + pinned) + Self.constantPages)
    let size = info.lastPageNumber + 1
    if size > bound {
      report.fail(
        "durability \(durability), \(title): \(size) pages, not \(bound) at most; \(live) live, \(pinned) pinned")
    }
    let name = "pages, \(durability), \(title): the most, in percent of the live ones"
    report.countMost(name, size * 100 / live)
  }

  func churnQuietly(_ count: Int, _ report: inout TrialReport) throws {
    try churn(count, &report)
    try checkSize("no reader lingers", &report)
  }

  /// A process holds a snapshot throughout, and this process holds one for a part of it.
  func churnUnderLingeringReader(_ count: Int, _ report: inout TrialReport) throws {
    let reader = try self.reader()
    guard reader.readLine() == "held" else { return report.fail("a reader did not get its snapshot") }
    let before = commits
    try churn(count, &report)
    try checkSize("a reader lingers", pinned: commits - before + 1, &report)
    if reader.run("end") != "same" { report.fail("a snapshot changed while it was held") }
    reader.end()
    report.count("readers that lingered")
    try churnWithoutGrowth(count / 2, "its reader had ended", &report)
  }

  private func churnWithoutGrowth(_ count: Int, _ cause: String, _ report: inout TrialReport) throws {
    let end = try cache.environment.info().lastPageNumber
    try churn(count, &report)
    try cache.flush()
    let later = try cache.environment.info().lastPageNumber
    if later > end { report.fail("\(durability): the file grew from \(end) to \(later) pages after \(cause)") }
  }

  func killReaders(_ count: Int, _ report: inout TrialReport) throws {
    let before = commits
    for _ in 0..<4 {
      let reader = try self.reader()
      guard reader.readLine() == "held" else { return report.fail("a reader did not get its snapshot") }
      try churn(count / 8, &report)
      reader.kill()
      report.count("readers killed in a snapshot")
    }
    let clock = ContinuousClock()
    let start = clock.now
    while clock.now - start < .seconds(Self.timeLimit) { try churn(20, &report); usleep(2_000) }
    // The cache must already have freed their slots.
    let dead = try cache.environment.checkReaders()
    if dead > 0 { report.fail("\(dead) places of dead readers are still taken after \(Self.timeLimit) s") }
    try checkSize("readers died", pinned: commits - before + 1, &report)
    try churnWithoutGrowth(count / 2, "its readers had died", &report)
  }

  private func reader() throws -> ChildProcess {
    try ChildProcess("soak", ["role", ChurnTrial.name, directory, String(durability.rawValue)])
  }

  func end(_ report: inout TrialReport) throws {
    for index in 0..<ChurnTrial.keys { try look(index, &report) }
    if cache.environment.runningReads != 0 { report.fail("reads have not ended") }
    report.count("commits", commits)
    try cache.close()
  }
}

/// Holds a snapshot until it gets a line or is killed, then reports whether the snapshot stayed the same.
extension ChurnTrial: TrialRole {
  package static func run(_ arguments: [String]) throws {
    let cache = try LMDBCache(
      directory: URL(fileURLWithPath: arguments[0]),
      configuration: ChurnTrial.configuration(durability: arguments[1]).withoutMemory)
    try cache.read { snapshot in
      let before = try contents(of: snapshot)
      answer("held")
      _ = readLine()
      answer(try contents(of: snapshot) == before ? "same" : "changed")
    }
    try cache.close()
  }

  private static func contents(of snapshot: borrowing CacheSnapshot) throws -> [Data?] {
    var contents: [Data?] = []
    for index in 0..<50 { contents.append(try snapshot.value(Data.self, forKey: ChurnTrial.key(index))) }
    return contents
  }
}
