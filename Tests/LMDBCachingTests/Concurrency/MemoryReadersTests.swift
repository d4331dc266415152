import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// The building blocks of lock-free look-ups.
@Suite struct MemoryReadersTests {
  // MARK: The lock

  @Test func aVersionIsOfWhatIsBetweenTwoChanges() throws {
    let shared = Shared()
    let version = try #require(shared.version)
    #expect(shared.isCurrent(version))
    shared.lock.lock()
    #expect(!shared.isCurrent(version))
    #expect(shared.version == nil)
    shared.lock.unlock()
    #expect(!shared.isCurrent(version))
    let next = try #require(shared.version)
    shared.lock.lock()
    #expect(!shared.isCurrent(next))
    shared.lock.unlockUnchanged()
    #expect(shared.isCurrent(next))
  }

  final class Shared: @unchecked Sendable {  // Sendable: `sum` is used with the lock held only.
    let lock = VersionedLock()
    var sum = 0
    var version: UInt64? { lock.version() }
    func isCurrent(_ version: UInt64) -> Bool { lock.isCurrent(version) }
  }

  @Test func oneThreadHasItAtATime() {
    let shared = Shared()
    concurrently(4) { worker in
      for step in 0..<5_000 {
        shared.lock.lock()
        shared.sum += 1
        if (step + worker) % 3 == 0 { shared.lock.unlockUnchanged() } else { shared.lock.unlock() }
      }
    }
    #expect(shared.sum == 20_000)
  }

  // MARK: Readers

  @Test func aThreadReadsOnce() {
    let readers = MemoryReaders()
    let line = enter(readers)
    #expect(readers.enter() == nil)
    line.pointee.leave()
    let again = enter(readers)
    #expect(again.pointer == line.pointer)
    again.pointee.leave()
    readers.wait()
  }

  /// Threads of other tests may have all numbers for a while.
  private func enter(_ readers: MemoryReaders) -> MemoryReference<MemoryReader> {
    while true {
      if let line = readers.enter() { return line }
      sched_yield()
    }
  }

  @Test func whoWaitsWaitsForThoseThatReadAlready() {
    let readers = MemoryReaders()
    let (inside, mayLeave) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let group = DispatchGroup()
    let left = Guarded(false)
    inBackground(group) {
      let line = enter(readers)
      inside.signal()
      mayLeave.wait()
      left { $0 = true }
      line.pointee.leave()
    }
    inside.wait()
    inBackground(group) {
      readers.wait()
      #expect(left.current)
    }
    // Long enough that a call that does not wait would very likely have finished.
    for _ in 0..<200 { sched_yield() }
    mayLeave.signal()
    group.wait()
  }

  @Test func notForThoseThatComeLater() {
    let readers = MemoryReaders()
    let flag = Guarded(false)
    let group = DispatchGroup()
    inBackground(group) {
      while !flag.current {
        enter(readers).pointee.leave()
      }
    }
    #expect(finishes { for _ in 0..<2_000 { readers.wait() } })
    flag { $0 = true }
    group.wait()
  }

  // MARK: Values that are being read

  final class Value: Sendable {
    let isReleased: Guarded<Bool>
    init(_ isReleased: Guarded<Bool>) { self.isReleased = isReleased }
    deinit { isReleased { $0 = true } }
  }

  /// A look-up keeps its value alive between finding and retaining it.
  @Test(arguments: ["replaced", "removed", "emptied", "closed"], [true, false])
  func aValueStaysWhileItIsRead(_ change: String, asynchronously: Bool) {
    let store = MemoryCache<Int, Value>()
    store.setRelease(asynchronously: asynchronously, onMainThread: false)
    let isReleased = Guarded(false)
    let hash = store.hash(of: 1)
    store.set(1, hash: hash, value: Value(isReleased))
    let (inside, changing) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let group = DispatchGroup()
    inBackground(group) {
      let found = store.access(1, hash: hash, tick: 0, needsStamps: { false }) { entry -> Bool? in
        inside.signal()
        changing.wait()
        // Long enough to catch an early release; correct code never fails here.
        for _ in 0..<2_000 where !isReleased.current { sched_yield() }
        #expect(!isReleased.current)
        return entry.value.isReleased === isReleased
      }
      if case .hit(true) = found {} else { #expect(Bool(false), "not found") }
    }
    inside.wait()
    inBackground(group) {
      changing.signal()
      switch change {
      case "replaced": store.set(1, hash: hash, value: Value(Guarded(false)))
      case "removed": _ = store.remove(1, hash: hash)
      case "emptied": store.removeAll()
      default: store.close()
      }
    }
    group.wait()
    #expect(eventually { isReleased.current })
  }

  /// Its `==` looks up another key, which takes the lock and no second reader line.
  struct Curious: Hashable, Sendable {
    static let cache = Guarded<MemoryCache<Int, Int>?>(nil)
    let number: Int
    static func == (a: Self, b: Self) -> Bool {
      if let cache = cache.current { #expect(cache.value(forKey: 7) == 49) }
      return a.number == b.number
    }
    func hash(into hasher: inout Hasher) { hasher.combine(number) }
  }

  @Test func aKeyMayLookIntoAnotherCache() {
    let other = MemoryCache<Int, Int>()
    other.set(49, forKey: 7)
    Curious.cache { $0 = other }
    let cache = MemoryCache<Curious, String>()
    cache.set("a", forKey: Curious(number: 1))
    #expect(cache.value(forKey: Curious(number: 1)) == "a")
    #expect(cache.value(forKey: Curious(number: 2)) == nil)
    Curious.cache { $0 = nil }
  }
}
