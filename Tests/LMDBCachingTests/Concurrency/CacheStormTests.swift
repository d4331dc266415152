import Dispatch
import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Meant for the thread sanitizer too.
@Suite(.timeLimit(.minutes(30))) struct CacheStormTests {
  let directory = CacheDirectory()

  @Test(arguments: 1...6 as ClosedRange<UInt64>) func everyAnswerFollowsFromAnOrder(_ seed: UInt64) async throws {
    try await CacheStorm(seed: seed).run(turns: 3)
  }

  // MARK: Trims and closing

  /// Until the cache is closed, three threads write different keys, and two read.
  private final class Users: Sendable {
    static let keysOfWriter = 12

    let cache: LMDBCache
    let ledger = WriteLedger(count: 3 * Users.keysOfWriter)
    /// Whether entries may go.
    let mayLose: Bool
    private let group = DispatchGroup()

    init(_ cache: LMDBCache, mayLose: Bool, seed: UInt64) {
      (self.cache, self.mayLose) = (cache, mayLose)
      for thread in 0..<5 {
        inBackground(group) { [self] in
          var random = SeededRandom(seed &* 100 &+ UInt64(thread))
          var step = 1
          while attempt({ if thread < 3 { try write(thread, step, &random) } else { try read(&random) } }) { step += 1 }
        }
      }
    }

    /// False if the cache is closed, or for an error that no call may have.
    private func attempt(_ body: () throws -> Void) -> Bool {
      do {
        try body()
        return true
      } catch let error as CacheError where error.code == .closed {
        return false
      } catch {
        Issue.record(error)
        return false
      }
    }

    private func write(_ writer: Int, _ version: Int, _ random: inout SeededRandom) throws {
      let key = writer * Self.keysOfWriter + random.below(Self.keysOfWriter)
      let choice = random.below(8)
      let value = [key, version] + Array(repeating: version, count: version % 300)
      try ledger.write(key, version: version, stores: choice > 2) {
        switch choice {
        case 0: try cache.removeValue(forKey: "\(key)")
        case 1: try cache.removeAll(.keys(["\(key)"]))
        case 2: try cache.write { $0.removeValue(forKey: "\(key)") }
        case 3: try cache.write { $0.set(value, forKey: "\(key)") }
        case 4: _ = try cache.exchange(value, forKey: "\(key)")
        default: try cache.set(value, forKey: "\(key)", expires: .after(.seconds(86_400)))
        }
      }
      try check(key)
    }

    private func read(_ random: inout SeededRandom) throws {
      let key = random.below(3 * Self.keysOfWriter)
      switch random.below(5) {
      case 0: try cache.withBytes(forKey: "\(key)") { bytes in #expect(bytes.byteCount >= 16) }
      case 1: _ = try cache.entries(withPrefix: "1")
      case 2: try check(key) { try cache.read { try $0.value([Int].self, forKey: "\(key)") } }
      default: try check(key)
      }
      _ = (cache.containsObject(forKey: "\(key)"), cache.statistics, cache.health)
    }

    private func check(_ key: Int) throws { try check(key) { try cache.value([Int].self, forKey: "\(key)") } }

    private func check(_ key: Int, _ read: () throws -> [Int]?) throws {
      let fault = try ledger.fault(of: key, mayLose: mayLose) { try read().map { version(of: $0, key) } }
      if let fault { Issue.record("\(fault)") }
    }

    private func version(of value: [Int], _ key: Int) -> Int {
      let version = value.count > 1 ? value[1] : -1
      if value != [key, version] + Array(repeating: version, count: max(0, version) % 300) {
        Issue.record("\(key) has a value that no thread stored: \(value.prefix(4))")
      }
      return version
    }

    /// Waits until all threads have seen the end, and reads every key.
    func checkAll(in cache: LMDBCache) throws {
      #expect(group.wait(timeout: .now() + 60) == .success)
      for key in 0..<3 * Self.keysOfWriter {
        let fault = try ledger.fault(of: key, mayLose: mayLose) {
          try cache.value([Int].self, forKey: "\(key)").map { version(of: $0, key) }
        }
        if let fault { Issue.record("\(fault)") }
      }
    }
  }

  /// Even seeds have limits and trims. With the others, every write that has returned survives the close.
  @Test(arguments: 0..<8 as Range<UInt64>) func whoUsesACacheThatIsClosedLosesNothing(_ seed: UInt64) throws {
    let isLimited = seed % 2 == 0
    let change: (inout CacheConfiguration) -> Void = {
      $0.disk.groupCommitInterval = .milliseconds(1)
      $0.disk.journalSize = 64 << 10
      $0.disk.valueSegmentSize = 64 << 10
      $0.disk.inlineThreshold = seed % 4 < 2 ? 500 : 1 << 20
      $0.memory.countLimit = [Int.max, 0, 4][Int(seed % 3)]
      $0.durability = seed == 5 ? .full : .ordered
      if isLimited { $0.disk.countLimit = 30 }
    }
    let cache = try directory.open(change)
    let users = Users(cache, mayLose: isLimited, seed: seed)
    // A stream of writes keeps none of these waiting for ever.
    for round in 0..<10 {
      try cache.touch(forKey: "\(round)", expires: .after(.seconds(86_400)))
      try cache.disk.trim(to: .limits)
      try cache.sweepValues()
      cache.memory.removeAll()
      if isLimited {
        try cache.trim(to: .count(30 - round))
        try cache.trim(to: .age(.seconds(3_600)))
      }
    }
    try cache.close()
    let again = try directory.open(change)
    try users.checkAll(in: again)
    #expect(try again.entries().count == again.count)
    try again.sweepValues()
    #expect(try again.valueLogFaults() == [])
    if isLimited {
      try again.trim(to: .count(5))
      #expect(try again.count <= 5)
    }
    try again.close()
  }
}
