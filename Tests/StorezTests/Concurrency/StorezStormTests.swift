import Foundation
import Storez
import TestSupport
import Testing

/// Meant for the thread sanitizer too.
struct StorezStormTests {
  /// A counter that detects lost updates.
  struct Counter: KeyType {
    typealias NamespaceType = Animals
    let stringValue = "animals:counter"
    let defaultValue = 0
    func processChange(_ oldValue: Int, newValue: Int) -> Int { oldValue + newValue }
  }

  @Test(arguments: [0, 1, 2]) func noIncrementIsLost(_ kind: Int) throws {
    let suite = TemporarySuite()
    let temporary = try TemporaryCache()
    let memory = CacheStore()
    let key = Counter()
    // Long enough for user defaults to synchronize; the thread sanitizer makes that very slow.
    let perThread = Sanitizer.thread.isActive ? 100 : 1_500
    let isDone = Guarded(false)
    let group = DispatchGroup()
    let get: @Sendable () -> Int
    let increment: @Sendable () -> Void
    switch kind {
    case 0:
      get = { suite.store.get(key) }
      increment = { suite.store.set(key, value: 1) }
    case 1:
      get = { memory.get(key) }
      increment = { memory.set(key, value: 1) }
    default:
      get = { temporary.store.get(key) }
      increment = { temporary.store.set(key, value: 1) }
    }
    inBackground(group) {
      var last = 0
      while !isDone.current {
        let value = get()
        if value < last { Issue.record("\(value) after \(last)") }
        last = value
      }
    }
    concurrently(4) { _ in for _ in 0..<perThread { increment() } }
    isDone { $0 = true }
    group.wait()
    #expect(get() == 4 * perThread)
  }

  @Test func hooksOfTwoStoresMaySetInEachOther() {
    struct Crossing: KeyType {
      typealias NamespaceType = Animals
      let stringValue = "animals:crossing"
      let defaultValue = 0
      let other: CacheStore
      func didChange(_ oldValue: Int, newValue: Int) { other.set(Animals.count, value: newValue) }
    }
    let stores = [CacheStore(), CacheStore()]
    let isOver = finishes {
      concurrently(4) { thread in
        for number in 0..<500 { stores[thread % 2].set(Crossing(other: stores[1 - thread % 2]), value: number) }
      }
    }
    #expect(isOver)
  }
}
