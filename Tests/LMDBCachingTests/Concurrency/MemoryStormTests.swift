import Foundation
import LMDBCaching
import Synchronization
import TestSupport
import Testing

/// Meant for the thread sanitizer too.
@Suite struct MemoryStormTests {
  final class Flag: Sendable {
    let value = Atomic<Bool>(false)
  }

  @Test(arguments: [64, 5_000, Int.max]) func valuesAreNeverMixedUp(limit: Int) {
    let cache = MemoryCache<String, Int>(countLimit: limit)
    concurrently(4) { worker in
      var random = SeededRandom(UInt64(worker) + 1)
      for step in 0..<8_000 {
        let number = random.below(2_000)
        let key = "number \(number)"
        switch random.below(10) {
        case 0..<5: if let value = cache.value(forKey: key) { #expect(value % 2_000 == number) }
        case 5..<8: cache.set(number + 2_000 * step, forKey: key, cost: number)
        case 8: cache.removeValue(forKey: key)
        default: if step % 1_000 == 0 { cache.removeAll() }
        }
      }
    }
    #expect(cache.count <= limit)
  }

  @Test func limitsChangeWhileOthersRead() {
    let cache = MemoryCache<Int, Int>()
    for number in 0..<20_000 { cache.set(number, forKey: number) }
    let isDone = Flag()
    concurrently(3) { worker in
      if worker == 0 {
        // Every change moves the entries to a different number of shards.
        for limit in [100, 20_000, 600, 3_000, 1, 50_000, 5_000, Int.max, 64] { cache.countLimit = limit }
        return isDone.value.store(true, ordering: .relaxed)
      }
      var random = SeededRandom(UInt64(worker) + 9)
      while !isDone.value.load(ordering: .relaxed) {
        let number = random.below(20_000)
        if let value = cache.value(forKey: number) { #expect(value == number) }
        cache.set(number, forKey: number)
      }
    }
    #expect(cache.count <= 64)
  }

  /// Includes values whose concurrent insertion still used the old limit.
  @Test(arguments: [20, 100_000]) func aLowerLimitHoldsWhenItsSetterReturns(_ limit: Int) {
    let cache = MemoryCache<Int, Int>(countLimit: 0)
    let isDone = Flag()
    let failures = Guarded(0)
    concurrently(3) { worker in
      if worker == 0 {
        for _ in 0..<3_000 {
          cache.countLimit = limit
          cache.countLimit = 0
          if cache.count != 0 { failures { $0 += 1 } }
        }
        return isDone.value.store(true, ordering: .relaxed)
      }
      var number = worker
      while !isDone.value.load(ordering: .relaxed) {
        cache.set(number, forKey: number & 63)
        number &+= 1
      }
    }
    #expect(failures.current == 0)
    #expect(cache.count == 0)
  }

  @Test func readersRunThroughATrim() {
    let cache = MemoryCache<Int, Int>()
    for number in 0..<50_000 { cache.set(number, forKey: number) }
    concurrently(3) { worker in
      if worker == 0 { return cache.trim(to: .count(1_000)) }
      var random = SeededRandom(UInt64(worker))
      for _ in 0..<20_000 {
        let number = random.below(50_000)
        if let value = cache.value(forKey: number) { #expect(value == number) }
      }
    }
    #expect(cache.count == 1_000)
  }

  @Test func readersRunThroughGrowthAndShrinking() {
    let cache = MemoryCache<String, Int>()
    // Always present, wherever the table moves them.
    for number in 0..<500 { cache.set(number, forKey: "kept \(number)") }
    let isDone = Flag()
    concurrently(3) { worker in
      if worker == 0 {
        for round in 0..<4 {
          for number in 0..<8_000 { cache.set(number, forKey: "passing \(number)") }
          if round % 2 == 0 {
            for number in 0..<8_000 { cache.removeValue(forKey: "passing \(number)") }
          } else {
            cache.removeAll { $0.hasPrefix("passing") }
          }
        }
        return isDone.value.store(true, ordering: .relaxed)
      }
      var random = SeededRandom(UInt64(worker) + 5)
      while !isDone.value.load(ordering: .relaxed) {
        let number = random.below(500)
        #expect(cache.value(forKey: "kept \(number)") == number)
        if let value = cache.value(forKey: "passing \(number)") { #expect(value == number) }
      }
    }
    #expect(cache.count == 500)
  }

  @Test func aScanSeesWhatIsThereAllTheTime() {
    let cache = MemoryCache<Int, Int>()
    for number in 0..<3_000 { cache.set(number, forKey: number) }
    let isDone = Flag()
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
        return isDone.value.store(true, ordering: .relaxed)
      }
      // Other entries come and go, so entries move during the scan.
      var random = SeededRandom(UInt64(worker) + 3)
      while !isDone.value.load(ordering: .relaxed) {
        let first = 3_000 + random.below(10_000) * worker
        for number in first..<(first + 2_000) { cache.set(number, forKey: number) }
        if worker == 1 {
          for number in first..<(first + 2_000) { cache.removeValue(forKey: number) }
        } else {
          cache.removeAll { $0 >= first && $0 < first + 2_000 }
        }
      }
    }
    #expect((0..<3_000).allSatisfy { cache.value(forKey: $0) == $0 })
  }
}
