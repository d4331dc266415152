import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ManyKeysStormTests {
  /// The shard count changes, and tables grow and shrink.
  @Test func memoryNeverMixesValuesUp() {
    let cache = MemoryCache<Int, Int>(countLimit: 2_000)
    concurrently(4) { thread in
      var random = SeededRandom(UInt64(thread))
      for round in 0..<300 {
        let keys = (0..<100).map { _ in random.below(5_000) }
        if thread == 0 {
          cache.countLimit = round % 2 == 0 ? 20_000 : 500
          for key in keys { cache.set(key, forKey: key) }
          for key in keys.prefix(10) { cache.removeObject(forKey: key) }
        } else {
          for (key, value) in zip(keys, cache.values(forKeys: keys)) where value != nil { #expect(value == key) }
        }
      }
    }
  }

  @Test func bothTiersNeverMixValuesUp() throws {
    let directory = CacheDirectory()
    let cache = try directory.open { $0.memory.countLimit = 100 }
    concurrently(4) { thread in
      var random = SeededRandom(UInt64(thread))
      for _ in 0..<60 {
        let keys = (0..<40).map { _ in "a key that is longer than fifteen bytes \(random.below(300))" }
        do {
          switch thread {
          case 0: try cache.set(keys.map { (key: $0, value: [$0, $0]) })
          case 1: try cache.removeAll(.keys(Array(keys.prefix(5))))
          default:
            for (key, value) in zip(keys, try cache.values([String].self, forKeys: keys)) where value != nil {
              #expect(value == [key, key])
            }
          }
        } catch {
          Issue.record(error)
        }
      }
    }
    cache._checkInvariants()
    try cache.close()
  }
}
