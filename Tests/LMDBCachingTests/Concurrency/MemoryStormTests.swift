import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Lock-free reads of a memory cache during every kind of change. Meant for the thread sanitizer, and for the address
/// sanitizer, which detects use after free.
@Suite struct MemoryStormTests {
  struct Setup: Sendable, CustomStringConvertible {
    var seed: UInt64
    var limit = Int.max
    var costLimit = Int.max
    var expires = false
    var asynchronously = true
    var keys = 60
    /// A thread changes the limit, and so the number of shards, trims, and removes all.
    var isDisturbed = false
    var threads = 4
    var description: String { "\(seed)" }
  }

  static let setups = [
    Setup(seed: 1), Setup(seed: 3, expires: true, keys: 700),
    Setup(seed: 4, limit: 30), Setup(seed: 5, limit: 30, asynchronously: false), Setup(seed: 6, limit: 1),
    Setup(seed: 7, costLimit: 400), Setup(seed: 8, limit: 1_100, expires: true, keys: 2_000),
    Setup(seed: 9, keys: 3_000), Setup(seed: 10, limit: 900, costLimit: 9_000, expires: true, keys: 1_500),
    Setup(seed: 11, keys: 2_000, isDisturbed: true), Setup(seed: 12, asynchronously: false, isDisturbed: true),
    // More threads than there are numbers for readers: some read under the lock.
    Setup(seed: 13, limit: 50, keys: 80, threads: Sanitizer.thread.isActive ? 80 : 200),
  ]

  /// A read never returns another key's value, one older or newer than the writes around it, an expired value or a
  /// released one.
  @Test(arguments: setups) func agreesWithTheOracle(_ setup: Setup) {
    let census = Mortal.Census()
    do {
      let storm = MemoryStorm(setup, census)
      let counts = Guarded((gets: 0, hits: 0))
      concurrently(setup.threads) { worker in
        let own = storm.run(worker)
        counts { $0 = ($0.gets + own.gets, $0.hits + own.hits) }
      }
      let statistics = storm.cache.statistics
      if !setup.isDisturbed {
        #expect(statistics.hits == counts.current.hits)
        #expect(statistics.hits + statistics.misses == counts.current.gets)
        #expect(storm.cache.count <= setup.limit && storm.cache.totalCost <= setup.costLimit)
      }
      storm.cache.countLimit = 5
      #expect(storm.cache.count <= 5)
    }
    #expect(eventually { census.count == 0 })
  }

  private final class MemoryStorm: Sendable {
    let cache: MemoryCache<String, Mortal>
    private let setup: Setup
    private let clock = ManualClock()
    private let ledger: WriteLedger
    private let census: Mortal.Census
    private let mayLose: Bool

    init(_ setup: Setup, _ census: Mortal.Census) {
      (self.setup, self.census) = (setup, census)
      cache = MemoryCache(countLimit: setup.limit, costLimit: setup.costLimit, clock: .manual(clock))
      cache.releasesAsynchronously = setup.asynchronously
      ledger = WriteLedger(count: setup.keys)
      mayLose = setup.limit != .max || setup.costLimit != .max || setup.expires || setup.isDisturbed
    }

    func run(_ worker: Int) -> (gets: Int, hits: Int) {
      var random = SeededRandom(setup.seed &* 1_000 &+ UInt64(worker))
      var counts = (gets: 0, hits: 0)
      for step in 1...(setup.threads > 4 ? 400 : 8_000) {
        let key = random.below(setup.keys)
        if worker < 2, random.below(3) != 0 {
          write(key - key % 2 + worker, version: step, &random)
        } else if worker == 2, setup.isDisturbed, step % 40 == 0 {
          disturb(&random)
        } else {
          let several = step % 50 == 0
          let keys = several ? (0..<20).map { (key + $0 * 7) % setup.keys } : [key]
          counts.gets += keys.count
          counts.hits += read(keys)
        }
        if worker == 0, step % 1_000 == 0 { clock.advance(by: .milliseconds(700)) }
      }
      return counts
    }

    private func name(_ key: Int) -> String { key % 3 == 0 ? "key \(key)" : "a key that is not kept in place: \(key)" }

    private func write(_ key: Int, version: Int, _ random: inout SeededRandom) {
      guard key < setup.keys else { return }
      let stores = random.below(4) != 0
      // Only the thread that advances the clock does this, so the moment is known.
      let expires = setup.expires && key % 2 == 0 && random.below(2) == 0
      let seconds: Int64? = expires ? Int64(random.below(4)) + 1 : nil
      let cost = random.below(20)
      ledger.write(key, version: version, stores: stores) {
        if stores {
          let moment = seconds.map { clock.now + $0 * 1_000_000_000 } ?? .max
          let value = Mortal(key, version: version, expires: moment, census)
          cache.set(value, forKey: name(key), expiresIn: seconds.map { .seconds($0) }, cost: cost)
        } else {
          cache.removeValue(forKey: name(key))
        }
      }
    }

    /// Returns how many values there were. Several keys may come from different moments.
    private func read(_ keys: [Int]) -> Int {
      let time = clock.now
      if keys.count > 1 {
        let values = cache.values(forKeys: keys.map(name))
        for (key, value) in zip(keys, values) { if let value { check(value, key, time) } }
        return values.count(where: { $0 != nil })
      }
      var hits = 0
      let fault = ledger.fault(of: keys[0], mayLose: mayLose) {
        guard let value = cache.value(forKey: name(keys[0])) else { return nil }
        hits = 1
        check(value, keys[0], time)
        return value.version
      }
      if let fault { Issue.record("\(fault)") }
      return hits
    }

    private func check(_ value: Mortal, _ key: Int, _ time: Int64) {
      #expect(value.lives, "\(key) was released")
      #expect(value.key == key, "\(key) has the value of \(value.key)")
      #expect(value.expires > time, "\(key) has expired")
    }

    private func disturb(_ random: inout SeededRandom) {
      switch random.below(4) {
      case 0: cache.countLimit = [100, 20_000, 600, 3_000, 1, 50_000, 5_000, Int.max][random.below(8)]
      case 1: cache.trim(to: .count(random.below(1_000)))
      case 2: cache.removeAll { $0.hasPrefix("key") }
      default: cache.removeAll()
      }
    }
  }

  /// A look-up keeps its value alive between finding and retaining it.
  @Test(arguments: ["replaced", "removed", "emptied", "closed"], [true, false])
  func aValueStaysWhileItIsRead(_ change: String, asynchronously: Bool) {
    let census = Mortal.Census()
    let store = MemoryCache<Int, Mortal>()
    store.setRelease(asynchronously: asynchronously, onMainThread: false)
    let hash = store.hash(of: 1)
    store.set(1, hash: hash, value: Mortal(1, census))
    let (inside, changing) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    concurrently(2) { worker in
      if worker == 0 {
        let found = store.access(1, hash: hash) { entry -> Int? in
          inside.signal()
          changing.wait()
          // Long enough to catch an early release; correct code never fails here.
          for _ in 0..<2_000 where census.count == 1 { sched_yield() }
          return census.count == 1 ? entry.value.key : nil
        }
        if case .hit(1) = found {} else { Issue.record("released too early") }
        return
      }
      inside.wait()
      changing.signal()
      switch change {
      case "replaced": store.set(1, hash: hash, value: Mortal(2, Mortal.Census()))
      case "removed": _ = store.remove(1, hash: hash)
      case "emptied": store.removeAll()
      default: store.close()
      }
    }
    #expect(eventually { census.count == 0 })
  }

  // MARK: Scans

  /// Others come and go, so that entries move during the scan.
  @Test func aScanSeesWhatIsThereAllTheTime() {
    let cache = MemoryCache<Int, Int>()
    for number in 0..<3_000 { cache.set(number, forKey: number) }
    let isDone = Guarded(false)
    concurrently(3) { worker in
      if worker == 0 {
        for _ in 0..<20 {
          var seen: Set<Int> = []
          cache.removeAll { key in
            if key < 3_000 { seen.insert(key) }
            return false
          }
          #expect(seen.count == 3_000)
        }
        return isDone { $0 = true }
      }
      var random = SeededRandom(UInt64(worker) + 3)
      while !isDone.current {
        let first = 3_000 + random.below(10_000) * worker
        for number in first..<(first + 2_000) { cache.set(number, forKey: number) }
        cache.removeAll { $0 >= first && $0 < first + 2_000 }
      }
    }
    #expect((0..<3_000).allSatisfy { cache.value(forKey: $0) == $0 })
  }

  // MARK: Values of all lengths

  private typealias Eight = (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)

  /// Short values are copied without a lock.
  @Test func bytesOfAValueAreOfOneWrite() {
    FilledBytes<UInt8>.storm()
    FilledBytes<UInt32>.storm()
    FilledBytes<(UInt32, UInt32, UInt32)>.storm()
    FilledBytes<(UInt64, UInt64, UInt64)>.storm()
    FilledBytes<(Eight, UInt64, UInt64, UInt64, UInt64, UInt64)>.storm()
    FilledBytes<(Eight, Eight, Eight, UInt64)>.storm()
  }
}

/// All bytes are equal, and identify the key.
private struct FilledBytes<Content: BitwiseCopyable & Sendable>: Sendable {
  private var content: Content

  init(_ byte: UInt8) {
    content = withUnsafeTemporaryAllocation(of: Content.self, capacity: 1) { buffer in
      UnsafeMutableRawBufferPointer(buffer).initializeMemory(as: UInt8.self, repeating: byte)
      return buffer[0]
    }
  }

  /// The common byte, or `nil` if bytes differ.
  private var byte: UInt8? {
    withUnsafeBytes(of: content) { bytes in
      let bytes = bytes.prefix(MemoryLayout<Content>.size)
      return bytes.allSatisfy { $0 == bytes[0] } ? bytes[0] : nil
    }
  }

  static func storm() {
    let cache = MemoryCache<UInt8, Self>()
    let isDone = Guarded(false)
    concurrently(3) { worker in
      var random = SeededRandom(UInt64(worker))
      if worker == 0 {
        for _ in 0..<6_000 {
          let key = UInt8(random.below(100))
          if random.below(3) == 0 { cache.removeValue(forKey: key) } else { cache.set(Self(key), forKey: key) }
        }
        // The readers may begin late.
        while cache.statistics.hits == 0 { cache.set(Self(7), forKey: 7) }
        return isDone { $0 = true }
      }
      while !isDone.current {
        for _ in 0..<50 {
          let key = UInt8(random.below(100))
          if let value = cache.value(forKey: key) { #expect(value.byte == key, "\(Content.self)") }
        }
      }
    }
  }
}
