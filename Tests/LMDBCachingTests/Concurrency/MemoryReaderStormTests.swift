import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

/// Lock-free readers during every kind of removal. Meant for the thread sanitizer, and for the address sanitizer, which
/// detects use after free.
@Suite struct MemoryReaderStormTests {
  final class Flag: Sendable {
    let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
  }

  static func name(_ number: Int) -> String { "a key that is too long to be kept in place, number \(number)" }

  /// Runs `change` on one thread, and `read` on three others until it returns.
  private func readers(while change: @escaping @Sendable () -> Void, _ read: @escaping @Sendable (Int) -> Void) {
    let isDone = Flag()
    concurrently(4) { worker in
      if worker == 0 {
        change()
        return isDone.set()
      }
      var random = SeededRandom(UInt64(worker))
      while !isDone.isSet { for _ in 0..<50 { read(random.below(1 << 20)) } }
    }
  }

  @Test(arguments: [true, false]) func aTableThatGrowsAndShrinks(asynchronously: Bool) {
    let census = Mortal.Census()
    do {
      let cache = MemoryCache<String, Mortal>()
      cache.releasesAsynchronously = asynchronously
      for key in 0..<64 { cache.set(Mortal(key, census), forKey: Self.name(key)) }
      readers {
        for _ in 0..<6 {
          for key in 64..<3_000 { cache.set(Mortal(key, census), forKey: Self.name(key)) }
          for key in 64..<3_000 { cache.removeValue(forKey: Self.name(key)) }
        }
      } _: { number in
        let key = number % 128
        let value = cache.value(forKey: Self.name(key))
        if key < 64 { #expect(value != nil) }
        if let value { #expect(value.lives && value.key == key) }
      }
      #expect(cache.count == 64)
    }
    #expect(eventually { census.count == 0 })
  }

  @Test(arguments: [true, false]) func replacingAndRemoving(asynchronously: Bool) {
    let census = Mortal.Census()
    do {
      let cache = MemoryCache<Int, Mortal>()
      cache.releasesAsynchronously = asynchronously
      readers {
        var random = SeededRandom(5)
        for step in 0..<30_000 {
          let key = random.below(40)
          switch random.below(4) {
          case 0: cache.removeValue(forKey: key)
          case 1 where step % 500 == 1: cache.removeAll()
          default: cache.set(Mortal(key, version: step, census), forKey: key)
          }
        }
      } _: { number in
        let key = number % 40
        if let value = cache.value(forKey: key) { #expect(value.lives && value.key == key) }
      }
    }
    #expect(eventually { census.count == 0 })
  }

  @Test(arguments: [10, 700, 9_000]) func eviction(limit: Int) {
    let census = Mortal.Census()
    do {
      let cache = MemoryCache<String, Mortal>(countLimit: limit)
      concurrently(4) { worker in
        var random = SeededRandom(UInt64(worker))
        for _ in 0..<8_000 {
          let key = random.below(limit * 3)
          let name = Self.name(key)
          if let value = cache.value(forKey: name) {
            #expect(value.lives && value.key == key)
          } else {
            cache.set(Mortal(key, census), forKey: name)
          }
        }
      }
      #expect(cache.count <= limit)
    }
    #expect(eventually { census.count == 0 })
  }

  @Test func theNumberOfShardsChanges() {
    let census = Mortal.Census()
    do {
      let cache = MemoryCache<Int, Mortal>(countLimit: 20_000)
      readers {
        for limit in [100, 20_000, 600, 3_000, 1, 50_000, 5_000, Int.max, 64, 20_000] {
          for key in 0..<2_000 { cache.set(Mortal(key, census), forKey: key) }
          cache.countLimit = limit
        }
      } _: { number in
        let key = number % 2_000
        if let value = cache.value(forKey: key) { #expect(value.lives && value.key == key) }
      }
    }
    #expect(eventually { census.count == 0 })
  }

  @Test func manyKeysAtOnce() {
    let census = Mortal.Census()
    do {
      let cache = MemoryCache<String, Mortal>(countLimit: 500)
      readers {
        var random = SeededRandom(2)
        for step in 0..<20_000 {
          let key = random.below(800)
          cache.set(Mortal(key, census), forKey: Self.name(key))
          if step % 2_000 == 0 { cache.removeAll() }
        }
      } _: { number in
        guard number % 16 == 0 else { return }
        let keys = (0..<40).map { (number + $0 * 7) % 800 }
        for (key, value) in zip(keys, cache.values(forKeys: keys.map(Self.name))) {
          if let value { #expect(value.lives && value.key == key) }
        }
      }
    }
    #expect(eventually { census.count == 0 })
  }

  @Test func theCacheIsReleasedWhileOthersHaveJustReadIt() {
    for round in 0..<60 {
      let census = Mortal.Census()
      let caches = Guarded<MemoryCache<Int, Mortal>?>(MemoryCache(countLimit: 40))
      concurrently(4) { worker in
        // Readers drop their references at different moments; the last one frees the cache.
        guard let cache = caches.current else { return }
        if worker == 3 { caches { $0 = nil } }
        var random = SeededRandom(UInt64(round * 4 + worker))
        for _ in 0..<random.below(400) {
          let key = random.below(60)
          if let value = cache.value(forKey: key) { #expect(value.lives && value.key == key) }
          if random.below(2) == 0 { cache.set(Mortal(key, census), forKey: key) }
        }
      }
      #expect(eventually { census.count == 0 })
    }
  }

  @Test func threadsThatComeAndGo() {
    let census = Mortal.Census()
    do {
      let cache = MemoryCache<Int, Mortal>(countLimit: 50)
      for _ in 0..<5 {
        // More threads than reader numbers, so some read under the lock.
        concurrently(Sanitizer.thread.isActive ? 80 : 200) { worker in
          var random = SeededRandom(UInt64(worker))
          for _ in 0..<40 {
            let key = random.below(80)
            if let value = cache.value(forKey: key) {
              #expect(value.lives && value.key == key)
            } else {
              cache.set(Mortal(key, census), forKey: key)
            }
          }
        }
      }
      let counts = cache.statistics
      #expect(counts.hits + counts.misses == 5 * (Sanitizer.thread.isActive ? 80 : 200) * 40)
    }
    #expect(eventually { census.count == 0 })
  }

  // MARK: Closing

  /// The body of a look-up never runs after `close` returns.
  @Test func nothingIsReadOnceItIsClosed() {
    for round in 0..<40 {
      let census = Mortal.Census()
      do {
        let store = MemoryCache<Int, Mortal>(keepsStamps: round % 2 == 0)
        for key in 0..<20 {
          if round % 2 == 0 {
            _ = store.insert(key, hash: store.hash(of: key), value: Mortal(key, census), stamp: UInt64(key + 1))
          } else {
            store.set(key, hash: store.hash(of: key), value: Mortal(key, census))
          }
        }
        let isClosed = Flag()
        concurrently(4) { worker in
          if worker == 0 {
            for _ in 0..<(round * 20) where isClosed.isSet {}
            store.close()
            return isClosed.set()
          }
          var random = SeededRandom(UInt64(worker))
          while true {
            let key = random.below(20)
            let found = store.access(key, hash: store.hash(of: key)) { entry -> Mortal? in
              #expect(!isClosed.isSet)
              return entry.value
            }
            switch found {
            case .hit(let value): #expect(value.lives && value.key == key)
            case .miss: continue
            case .closed: return
            }
          }
        }
        #expect(store.count == 0)
      }
      #expect(eventually { census.count == 0 })
    }
  }
}
