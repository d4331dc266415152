import Foundation
import LMDBCaching
import TestSupport

package struct SuspensionTrial: Trial {
  package static let name = "suspension"
  package static let summary =
    "A writer is suspended at any moment: the others go on within a bound, nothing acknowledged is lost."
  package static let defaultCount = 200

  private static let lockTimeout = Duration.milliseconds(150)
  /// The longest operation of another process: twice the lock timeout, on a busy machine.
  private static let bound = Duration.seconds(3)
  private static let keys = 100

  private let path: String
  private let cache: LMDBCache
  private var random: SeededRandom
  private var report = TrialReport()

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    let path = settings.directory + "/cache"
    let cache = try open(path)
    var trial = SuspensionTrial(path: path, cache: cache, random: SeededRandom(settings.seed))
    try trial.run(settings.count)
    try cache.close()
    return trial.report
  }

  private static func open(_ path: String) throws -> LMDBCache {
    try TrialCache.open(path) {
      $0.disk.groupCommitInterval = .milliseconds(1)
      $0.disk.lockTimeout = lockTimeout
      $0.disk.inlineThreshold = 4_096
      // Small enough to fill up now and then.
      $0.disk.journalSize = 1 << 17
    }
  }

  private final class Writer: Sendable {
    let process: ChildProcess
    let prefix: String
    let progress: Guarded<(acknowledged: Int, lines: Int)>
    private let reading = DispatchGroup()

    init(_ path: String, _ prefix: String, first: Int = 0) throws {
      process = try ChildProcess("soak", ["role", SuspensionTrial.name, path, prefix, "\(first)"])
      self.prefix = prefix
      progress = Guarded((first - 1, 0))
      inBackground(reading) { [process, progress] in
        while let line = process.readLine() {
          progress { $0 = (Int(line) ?? $0.acknowledged, $0.lines + 1) }
        }
      }
    }

    /// Returns once all of its output is read.
    func kill() {
      process.kill()
      reading.wait()
    }
  }

  private mutating func run(_ rounds: Int) throws {
    var writers = try (0..<3).map { try Writer(path, "w\($0)/") }
    for round in 0..<rounds where report.failureCount <= 10 {
      _ = eventually { writers.allSatisfy { $0.progress.current.lines > 0 } }
      usleep(UInt32(random.below(20_000)))
      let index = random.below(writers.count)
      let suspended = writers[index]
      suspended.process.suspend()
      observe(writers, but: index, round)
      if random.below(2) == 0 {
        suspended.process.resume()
        report.count("continued")
      } else {
        suspended.kill()
        report.count("killed")
        verify(suspended, round)
        writers[index] = try Writer(path, suspended.prefix, first: suspended.progress.current.acknowledged + 1)
      }
      let cache = cache
      if !eventually(within: .seconds(10), { (try? cache.flush()) != nil }) {
        report.fail("round \(round): nothing is committed for 10 s after it")
      }
      report.count("rounds")
    }
    for writer in writers { writer.kill() }
    for writer in writers {
      report.count("acknowledged writes", writer.progress.current.acknowledged + 1)
      verify(writer, rounds)
    }
  }

  private mutating func observe(_ writers: [Writer], but suspended: Int, _ round: Int) {
    let before = writers.map { $0.progress.current.lines }
    let path = path
    timed("set", round) { try $0.set(round, forKey: "own") }
    timed("get", round) { cache in
      guard try cache.value(Int.self, forKey: "own") == round else { throw CacheError(.storageFailed, "lost") }
      _ = try cache.withoutMemory.value(String.self, forKey: "w0/1")
    }
    if timed("flush", round, tolerating: .notCommitted, { try $0.flush() }) { report.count("held the write lock") }
    // The suspended process's files wait for its uncommitted records.
    timed("sweep", round, tolerating: .lockTimeout) { try $0.sweepValues() }
    timed("opening", round) { _ in
      // In another process, since this one has the directory open.
      let other = try ChildProcess("soak", ["role", CacheUser.name])
      let answer = other.run("open \(path) \(Durability.ordered.rawValue)")
      guard answer == "ok" else { throw CacheError(.storageFailed, answer ?? "crashed") }
    }
    for (index, writer) in writers.enumerated() where index != suspended {
      let isAlive = eventually(within: Self.bound * 2) { writer.progress.current.lines > before[index] }
      if !isAlive { report.fail("round \(round): writer \(index) hangs while \(suspended) is suspended") }
    }
  }

  /// Returns whether it fails with the tolerated error.
  @discardableResult
  private mutating func timed(
    _ what: String, _ round: Int, tolerating code: CacheError.Code? = nil, _ body: (LMDBCache) throws -> Void
  ) -> Bool {
    let start = ContinuousClock.now
    var isTolerated = false
    do {
      try body(cache)
    } catch {
      isTolerated = code != nil && (error as? CacheError)?.code == code
      if !isTolerated { report.fail("round \(round): \(what) failed: \(error)") }
    }
    let elapsed = ContinuousClock.now - start
    if elapsed > Self.bound { report.fail("round \(round): \(what) took \(elapsed)") }
    report.countMost("longest \(what), ms", Int(elapsed / .milliseconds(1)))
    return isTolerated
  }

  /// After its journal is replayed, a dead process's acknowledged writes are there.
  private mutating func verify(_ writer: Writer, _ round: Int) {
    let last = writer.progress.current.acknowledged
    let cache = cache
    for number in max(0, last - Self.keys + 1)...max(0, last) where last >= 0 {
      let key = writer.prefix + "\(number % Self.keys)"
      func found() -> Int { (try? CacheUser.number(key, in: cache.withoutMemory)) ?? -1 }
      if !eventually(within: .seconds(5), { found() >= number }) {
        return report.fail("round \(round): \(key) is \(found()) and not \(number), which was acknowledged")
      }
      report.count("entries checked")
    }
  }
}

/// Writes forever, and prints the number of each acknowledged write: `DIRECTORY PREFIX FIRST`. Every seventh value
/// goes to the value log.
extension SuspensionTrial: TrialRole {
  package static func run(_ arguments: [String]) throws {
    let cache = try open(arguments[0])
    var number = Int(arguments[2])!
    while true {
      // Not acknowledged while writes are in memory only, since those die with the process.
      do throws(CacheError) {
        let key = arguments[1] + "\(number % keys)"
        let text = WrittenValue(number: number).text(key: key, size: number % 7 == 0 ? 10_000 : number % 500)
        try cache.withoutMemory.set(text, forKey: key)
        answer("\(number)")
        number += 1
        if number % 50 == 0 { try cache.flush() }
      } catch {
        guard error.code == .lockTimeout || error.code == .notCommitted else { throw error }
        answer("held up")
        usleep(1_000)
      }
    }
  }
}
