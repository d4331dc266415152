import Foundation
import LMDBCaching
import TestSupport

package enum LifeCycleTrial: RoundTrial {
  package static let name = "life-cycle"
  package static let summary =
    "Threads open, close and open the same directories again: no acknowledged write is missing, no thread waits forever."
  package static let defaultCount = 100

  private static let passes = 25

  package static func run(_ arguments: [String]) throws {
    var random = SeededRandom(UInt64(arguments[1])!)
    let directories = (0...random.below(3)).map { arguments[0] + "/cache\($0)" }
    let pause = [0, 1, 1_000, 3_600_000][random.below(4)]
    let life = Life(directories, threads: 2 + random.below(3), commitsEvery: .milliseconds(pause))
    let seeds = (0..<life.threads).map { _ in random.next() }
    concurrently(life.threads) { thread in
      var random = SeededRandom(seeds[thread])
      for pass in 0..<passes { life.pass(pass, of: thread, &random) }
    }
    life.checkAll()
    for failure in life.failures.current.prefix(20) { answer(failure) }
    count("openings", life.threads * passes)
  }

  private final class Life: Sendable {
    let directories: [String]
    let threads: Int
    let failures = Guarded<[String]>([])
    private let commitsEvery: Duration
    /// The last acknowledged number, by directory and thread.
    private let acknowledged: Guarded<[[Int]]>

    init(_ directories: [String], threads: Int, commitsEvery: Duration) {
      self.directories = directories
      self.threads = threads
      self.commitsEvery = commitsEvery
      acknowledged = Guarded([[Int]](repeating: [Int](repeating: -1, count: threads), count: directories.count))
    }

    private func open(_ directory: Int) throws -> LMDBCache {
      try TrialCache.open(directories[directory]) {
        $0.disk.groupCommitInterval = commitsEvery
        $0.disk.journalSize = 1 << 18
      }
    }

    private func fail(_ text: String) { failures { $0.append(text) } }

    /// Opens, checks all threads' numbers, writes its own, and closes.
    func pass(_ pass: Int, of thread: Int, _ random: inout SeededRandom) {
      let directory = random.below(directories.count)
      do {
        let before = acknowledged.current[directory]
        let cache = try open(directory)
        for other in 0..<threads {
          let found = try cache.value(Int.self, forKey: "t\(other)") ?? -1
          if found < before[other] { fail("\(found) is read of \(other), after \(before[other]) was acknowledged") }
        }
        for filler in 0..<random.below(400) { try cache.set(pass, forKey: "f\(thread)/\(filler)") }
        let group = DispatchGroup()
        if random.below(3) == 0 { trim(cache, group) }
        try cache.set(pass, forKey: "t\(thread)")
        acknowledged { $0[directory][thread] = pass }
        if random.below(4) == 0 { try cache.flush() }
        // Or let its release close it.
        if random.below(4) > 0 { try cache.close() }
        group.wait()
      } catch {
        fail("pass \(pass) of \(thread): \(error)")
      }
    }

    /// Trims by an age that no entry has. The cache may already be closed.
    private func trim(_ cache: LMDBCache, _ group: DispatchGroup) {
      inBackground(group) { [self] in
        do throws(CacheError) {
          try cache.trim(to: .age(.seconds(3_600)))
        } catch {
          if error.code != .closed { fail("a trim: \(error)") }
        }
      }
    }

    func checkAll() {
      for directory in directories.indices where acknowledged.current[directory].contains(where: { $0 >= 0 }) {
        do {
          let cache = try open(directory)
          for (thread, number) in acknowledged.current[directory].enumerated() where number >= 0 {
            let found = try cache.value(Int.self, forKey: "t\(thread)")
            if found != number { fail("\(found ?? -1) is left of \(thread), after \(number) was acknowledged") }
          }
          let (count, entries) = try (cache.count, try cache.entries().count)
          if count != entries { fail("\(entries) entries are counted as \(count)") }
          try cache.close()
        } catch {
          fail("at the end: \(error)")
        }
      }
    }
  }
}
