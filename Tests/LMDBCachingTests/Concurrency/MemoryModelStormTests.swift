import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

/// Random operations of several threads, checked against an oracle: a read never returns another key's value, a value
/// older or newer than the writes around it, an expired value or a released one.
@Suite struct MemoryModelStormTests {
  /// The state of each key, written by one thread: twice the write's number, plus one if it stored.
  final class Oracle: Sendable {
    let begun: [Written]
    let done: [Written]

    final class Written: Sendable {
      let state = Atomic<Int>(0)
    }

    init(keys: Int) {
      begun = (0..<keys).map { _ in Written() }
      done = (0..<keys).map { _ in Written() }
    }

    func write(_ key: Int, version: Int, stores: Bool, _ body: () -> Void) {
      let state = version * 2 + (stores ? 1 : 0)
      begun[key].state.store(state, ordering: .sequentiallyConsistent)
      body()
      done[key].state.store(state, ordering: .sequentiallyConsistent)
    }
  }

  struct Setup: Sendable, CustomStringConvertible {
    var seed: UInt64
    var limit = Int.max
    var costLimit = Int.max
    var expires = false
    var asynchronously = true
    var keys = 60
    var description: String { "\(seed)" }
  }

  static let setups = [
    Setup(seed: 1), Setup(seed: 2, asynchronously: false), Setup(seed: 3, expires: true, keys: 700),
    Setup(seed: 4, limit: 30), Setup(seed: 5, limit: 30, asynchronously: false), Setup(seed: 6, limit: 1),
    Setup(seed: 7, costLimit: 400), Setup(seed: 8, limit: 1_100, expires: true, keys: 2_000),
    Setup(seed: 9, keys: 3_000), Setup(seed: 10, limit: 900, costLimit: 9_000, expires: true, keys: 1_500),
  ]

  @Test(arguments: setups) func agreesWithTheOracle(_ setup: Setup) {
    let census = Mortal.Census()
    do {
      let clock = ManualClock()
      let cache = MemoryCache<String, Mortal>(
        countLimit: setup.limit, costLimit: setup.costLimit, clock: .manual(clock))
      cache.releasesAsynchronously = setup.asynchronously
      let oracle = Oracle(keys: setup.keys)
      let counts = Guarded((gets: 0, hits: 0))
      concurrently(4) { worker in
        var random = SeededRandom(setup.seed &* 16 &+ UInt64(worker))
        var own = (gets: 0, hits: 0)
        for step in 1...8_000 {
          let key = random.below(setup.keys)
          if worker < 2, random.below(3) != 0 {
            write(key - key % 2 + worker, version: step, cache, oracle, clock, setup, census, &random)
          } else {
            own.gets += 1
            if read(key, cache, oracle, clock, setup) { own.hits += 1 }
          }
          if worker == 0, step % 1_000 == 0 { clock.advance(by: .milliseconds(700)) }
        }
        counts { $0 = ($0.gets + own.gets, $0.hits + own.hits) }
      }
      let statistics = cache.statistics
      #expect(statistics.hits == counts.current.hits)
      #expect(statistics.hits + statistics.misses == counts.current.gets)
      #expect(cache.count <= setup.limit && cache.totalCost <= setup.costLimit)
    }
    #expect(eventually { census.count == 0 })
  }

  private func name(_ key: Int) -> String { key % 3 == 0 ? "key \(key)" : "a key that is not kept in place: \(key)" }

  private func write(
    _ key: Int, version: Int, _ cache: MemoryCache<String, Mortal>, _ oracle: Oracle, _ clock: ManualClock,
    _ setup: Setup, _ census: Mortal.Census, _ random: inout SeededRandom
  ) {
    guard key < setup.keys else { return }
    let stores = random.below(4) != 0
    // Only the thread that advances the clock does this, so the moment is known.
    let expires = setup.expires && key % 2 == 0 && random.below(2) == 0
    let seconds: Int64? = expires ? Int64(random.below(4)) + 1 : nil
    let cost = random.below(20)
    oracle.write(key, version: version, stores: stores) {
      if stores {
        let moment = seconds.map { clock.now + $0 * 1_000_000_000 } ?? .max
        let value = Mortal(key, version: version, expires: moment, census)
        cache.set(value, forKey: name(key), expiresIn: seconds.map { .seconds($0) }, cost: cost)
      } else {
        cache.removeValue(forKey: name(key))
      }
    }
  }

  /// Returns whether there was a value.
  private func read(
    _ key: Int, _ cache: MemoryCache<String, Mortal>, _ oracle: Oracle, _ clock: ManualClock, _ setup: Setup
  ) -> Bool {
    let time = clock.now
    let before = oracle.done[key].state.load(ordering: .sequentiallyConsistent)
    let value = cache.value(forKey: name(key))
    let after = oracle.begun[key].state.load(ordering: .sequentiallyConsistent)
    guard let value else {
      let mayBeGone = setup.limit != .max || setup.costLimit != .max || setup.expires
      #expect(mayBeGone || before != after || before % 2 == 0, "\(key) is lost")
      return false
    }
    let state = value.version * 2 + 1
    #expect(value.lives, "\(key) was released")
    #expect(value.key == key, "\(key) has the value of \(value.key)")
    #expect(state >= before && state <= after, "\(key): \(state) is not from \(before) to \(after)")
    #expect(value.expires > time, "\(key) has expired")
    return true
  }
}
