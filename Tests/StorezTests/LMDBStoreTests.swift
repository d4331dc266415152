import Foundation
import LMDBCaching
import Storez
import TestSupport
import Testing

struct LMDBStoreTests {
  let temporary: TemporaryCache
  var store: LMDBStore { temporary.store }
  var cache: LMDBCache { temporary.cache }

  init() throws { temporary = try TemporaryCache() }

  @Test func aNamespaceIsARange() throws {
    store.set(Animals.count, value: 1)
    store.set(Cats.lion, value: "Aslan")
    store.set(Kittens.tom, value: 2)
    store.set(Weather.temperature, value: 3)
    try cache.set(0, forKey: "animalsx")
    #expect(store.count(in: Animals.self) == 3 && store.count(in: GlobalNamespace.self) == 5)
    #expect(store.entries(in: Cats.self).map(\.key) == ["animals:cats:kittens:tom", "animals:cats:lion"])
    store.removeAll(in: Cats.self)
    #expect(store.count(in: Animals.self) == 1 && store.get(Cats.lion) == nil && store.get(Animals.count) == 1)
    // The cache takes keys too.
    #expect(try cache.contains(Animals.count) && !cache.contains(Cats.lion))
    try cache.set(nil, forKey: Cats.lion)
    try cache.removeValue(forKey: Weather.temperature)
    #expect(store.get(Weather.temperature) == 0)
    store.removeAll(in: Animals.self)
    #expect(try cache.count == 1 && cache.contains("animalsx"))
    store.clear()
    #expect(try cache.count == 0)
  }

  @Test(.timeLimit(.minutes(30))) func aNamespaceIsObserved() async throws {
    var changes = store.changes(in: Cats.self).makeAsyncIterator()
    store.set(Animals.count, value: 1)
    store.set(Kittens.tom, value: 2)
    #expect(await changes.next() == .set(key: Kittens.tom.stringValue))
    store.set(Cats.lion, value: nil)
    #expect(await changes.next() == .removed(key: Cats.lion.stringValue))
    store.removeAll(in: Animals.self)
    #expect(await changes.next() == .removedAll(prefix: "animals:"))
    try await cache.close()
    #expect(await changes.next() == nil)
  }

  @Test func aClosedCacheIsReported() throws {
    store.set(Animals.count, value: 1)
    try cache.close()
    let failures = Guarded<[StorezFailure]>([])
    store.onFailure = { failure in failures { $0.append(failure) } }
    #expect(store.get(Animals.count) == 0)
    let recorder = Recorder()
    Recorder.$current.withValue(recorder) {
      store.set(RecordingKey(stringValue: "recorded", defaultValue: 0), value: 2)
      // Nothing was committed.
      #expect(recorder.taken == ["process 0 2", "will 0 2 ", "pre"])
    }
    #expect(store.count(in: Animals.self) == 0)
    store.clear()
    #expect(failures.current.map(\.code) == [.storage, .storage, .storage, .storage, .storage])
    #expect(throws: StorezFailure.self) { try store.throwing { $0.set(Animals.count, value: 2) } }
  }
}
