import Foundation
import LMDB
import LMDBCaching
import TestSupport

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
    report.count(name, max(0, size * 100 / live - report[name]))
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

    let end = try cache.environment.info().lastPageNumber
    try churn(count / 2, &report)
    try cache.flush()
    let later = try cache.environment.info().lastPageNumber
    if later > end {
      report.fail("\(durability): the file grew from \(end) to \(later) pages after its reader had ended")
    }
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
    let end = try cache.environment.info().lastPageNumber
    try churn(count / 2, &report)
    try cache.flush()
    let later = try cache.environment.info().lastPageNumber
    if later > end {
      report.fail("\(durability): the file grew from \(end) to \(later) pages after its readers had died")
    }
  }

  private func reader() throws -> ChildProcess {
    try ChildProcess("soak", ["role", ChurnReaderRole.name, directory, String(durability.rawValue)])
  }

  func end(_ report: inout TrialReport) throws {
    for index in 0..<ChurnTrial.keys { try look(index, &report) }
    if cache.environment.runningReads != 0 { report.fail("reads have not ended") }
    report.count("commits", commits)
    try cache.close()
  }
}
