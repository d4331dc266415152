import Foundation
import LMDBCaching
import TestSupport

package struct DeletionTrial: Trial {
  package static let name = "deletion"
  package static let summary =
    "Files are deleted or replaced while two processes use them: no crash, one file again, nothing lost afterwards."
  package static let defaultCount = 300

  private let directory: String
  private var random: SeededRandom
  private var report = TrialReport()
  private var number = 0

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var trial = DeletionTrial(directory: settings.directory, random: SeededRandom(settings.seed))
    try trial.run(settings.count)
    return trial.report
  }

  private var path: String { directory + "/cache" }

  private mutating func run(_ rounds: Int) throws {
    var (cache, peer) = (try open(), try start())
    for round in 0..<rounds where report.failureCount <= 10 {
      let harm = DeletionHarm.all[random.below(DeletionHarm.all.count)]
      do {
        try harmWhileWriting(harm, cache, peer)
        try meet(cache, peer, round)
        try keep(cache, peer)
      } catch {
        report.fail("round \(round), \(harm): \(error)")
      }
      report.count("rounds")
      report.count(harm.description)
      switch random.below(6) {
      case 0:
        peer.kill()
        peer = try start()
      case 1:
        try cache.close()
        cache = try open()
      default: break
      }
    }
    report.count("reopenings", cache.statistics.reopenings)
    try cache.close()
    try expect(peer.run("close"), "ok", "closing the other process")
  }

  private func open() throws -> LMDBCache {
    try TrialCache.open(path) { $0.disk.groupCommitInterval = .milliseconds(2) }
  }

  private func start() throws -> ChildProcess {
    let peer = try ChildProcess("soak", ["role", CacheUser.name])
    try expect(peer.run("open \(path) \(Durability.ordered.rawValue)"), "ok", "opening in the other process")
    return peer
  }

  private func expect<Value: Equatable>(_ value: Value?, _ wanted: Value, _ title: String) throws {
    if value != wanted { throw CacheError(.storageFailed, "\(title): \(String(describing: value)), not \(wanted)") }
  }

  private func set(_ number: Int, _ key: String, _ cache: LMDBCache) throws {
    try cache.set(WrittenValue(number: number).text(key: key, size: 20), forKey: key)
  }

  /// Writes from both processes, with the damage somewhere in between.
  private mutating func harmWhileWriting(_ harm: DeletionHarm, _ cache: LMDBCache, _ peer: ChildProcess) throws {
    let other = directory + "/other"
    if !harm.replaced.isEmpty {
      let made = try TrialCache.open(other)
      for index in 0..<random.below(30) { try set(index, "p\(index)", made) }
      try made.close()
    }
    let (path, delay, first, count) = (path, UInt32(random.below(3_000)), number, 50 + random.below(400))
    number += count
    peer.send("burst \(first) \(count) p")
    let group = DispatchGroup()
    inBackground(group) {
      usleep(delay)
      harm.happen(to: path, other)
    }
    let failure = Result {
      for index in first..<number {
        try set(index, "m\(index)", cache)
        for prefix in ["m", "p"] { _ = try CacheUser.number("\(prefix)\(first + random.below(count))", in: cache) }
      }
    }
    group.wait()
    try expect(peer.readLine(), "ok", "the other process")
    try failure.get()
    report.count("operations", 4 * count)
    try? FileManager.default.removeItem(atPath: other)
  }

  private mutating func meet(_ cache: LMDBCache, _ peer: ChildProcess, _ round: Int) throws {
    let start = ContinuousClock.now
    let hasMet = eventually(within: .seconds(10)) {
      guard (try? set(round, "mine", cache)) != nil, peer.run("set \(round) 20 its") == "ok" else { return false }
      usleep(20_000)
      let its = try? CacheUser.number("its", in: cache)
      // The first flush reports the loss of writes made while the directory was missing.
      return its == round && peer.run("get mine") == "\(round)" && (try? cache.flush()) != nil
        && peer.run("flush") == "ok"
    }
    try expect(hasMet, true, "the processes are in one file")
    report.countMost("longest way to one file, ms", Int((ContinuousClock.now - start) / .milliseconds(1)))
  }

  private mutating func keep(_ cache: LMDBCache, _ peer: ChildProcess) throws {
    let indexes = number..<number + 30
    number += indexes.count
    for index in indexes { try set(index, "m\(index)", cache) }
    try expect(peer.run("burst \(indexes.lowerBound) \(indexes.count) p"), "ok", "writing after it")
    try cache.flush()
    try expect(peer.run("flush"), "ok", "flushing after it")
    for index in indexes {
      try expect(CacheUser.number("p\(index)", in: cache), index, "p\(index)")
      try expect(peer.run("get m\(index)"), "\(index)", "m\(index)")
    }
    // Two concurrent writers would have lost one of the counts.
    try expect(cache.count, cache.entries().count, "the count of entries")
    report.count("entries checked", 2 * indexes.count)
  }
}

/// Damage to the files of an open cache.
private struct DeletionHarm: CustomStringConvertible {
  /// "" is the directory.
  var deleted: [String] = []
  /// The replacements come from a closed cache.
  var replaced: [String] = []

  static let all: [DeletionHarm] =
    [
      ["data.mdb"], ["lock.mdb"], ["data.mdb", "lock.mdb"], ["journals"], ["processes.lock"],
      TrialCache.fileNames.sorted(), [""],
    ].map { DeletionHarm(deleted: $0) } + [["data.mdb"], ["data.mdb", "lock.mdb"]].map { DeletionHarm(replaced: $0) }

  var description: String { "deleted \(deleted), replaced \(replaced)" }

  /// - Parameter other: The directory of a closed cache, the source of replacement files.
  func happen(to path: String, _ other: String) {
    // Errors are ignored: the file may already be gone.
    for name in deleted { try? FileManager.default.removeItem(atPath: path + (name.isEmpty ? "" : "/" + name)) }
    for name in replaced { rename(other + "/" + name, path + "/" + name) }
  }
}
