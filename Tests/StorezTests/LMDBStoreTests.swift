import EFStorageStorez
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

  struct Note: Codable, Equatable, Sendable, LMDBCacheStorable { var text: String }

  @Test func valuesAreTheEntriesOfTheCache() throws {
    store.set(Weather.temperature, value: 21.5)
    #expect(try cache.value(Double.self, forKey: "weather:temp") == 21.5)
    try cache.set(22.5, forKey: "weather:temp")
    #expect(store.get(Weather.temperature) == 22.5)
    let note = Key<Weather, Note?>(id: "note", defaultValue: nil)
    store.set(note, value: Note(text: "sunny"))
    #expect(try cache.value(Note.self, forKey: "weather:note") == Note(text: "sunny"))
    store.set(note, nil)
    #expect(try !cache.contains("weather:note"))
    let number = Key<Weather, NSNumber?>(id: "number", defaultValue: nil)
    store.set(number, value: 4)
    #expect(store.get(number) == 4)
    #expect(try cache.object(forKey: "weather:number") as? NSNumber == 4)
  }

  @Test func theyOutliveTheProcess() throws {
    store.set(Kittens.tom, value: 1)
    store.set(Cats.lion, value: "Aslan")
    let key = Key<Animals, Words?>(id: "words", defaultValue: nil)
    store.set(key, value: Words("a", "b"))
    try cache.close()
    let reopened = LMDBStore(cache: try TemporaryCache.open(temporary.url))
    #expect(reopened.get(Kittens.tom) == 1)
    #expect(reopened.get(Cats.lion) == "Aslan")
    #expect(reopened.get(key) == Words("a", "b"))
    try reopened.cache.close()
  }

  @Test func keysNameEntriesOfTheCacheItself() throws {
    #expect(try cache.value(forKey: Weather.temperature) == 0)
    try cache.set(3.5, forKey: Weather.temperature)
    #expect(try cache.value(forKey: Weather.temperature) == 3.5)
    #expect(try cache.value(forKey: Weather.city) == nil)
    try cache.set("Rome", forKey: Weather.city)
    #expect(try cache.value(forKey: Weather.city) == "Rome")
    #expect(try cache.contains(Weather.city) && cache.contains(Weather.city))
    try cache.set(nil, forKey: Weather.city)
    #expect(try !cache.contains(Weather.city) && !cache.contains(Weather.city))
    try cache.removeValue(forKey: Weather.temperature)
    #expect(store.get(Weather.temperature) == 0)
  }

  @Test func aKeyNamesAProperty() throws {
    final class Station {
      @EFStorageLMDBCache var temperature: Double
      @EFStorageLMDBCache var city: String?
      @EFStorageLMDBCache var note: LMDBStoreTests.Note

      init(_ cache: LMDBCache) {
        _temperature = EFStorageLMDBCache(Weather.temperature, in: cache)
        _city = EFStorageLMDBCache(Weather.city, in: cache)
        _note = EFStorageLMDBCache(
          Key<Weather, LMDBStoreTests.Note>(id: "note", defaultValue: LMDBStoreTests.Note(text: "none")), in: cache,
          expires: .after(.seconds(60)))
      }
    }
    let station = Station(cache)
    #expect(station.temperature == 0)
    store.set(Weather.temperature, value: 20)
    #expect(station.temperature == 20)
    station.temperature += 1
    #expect(store.get(Weather.temperature) == 21)
    station.city = "Oslo"
    #expect(store.get(Weather.city) == "Oslo")
    station.city = nil
    // Null is stored, and reads as no value.
    #expect(try cache.contains(Weather.city))
    #expect(try store.throwing { $0.get(Weather.city) } == nil)
    #expect(station.note == Note(text: "none"))
    station.note = Note(text: "some")
    #expect(store.get(Key<Weather, Note?>(id: "note", defaultValue: nil)) == Note(text: "some"))
  }

  @Test func aPropertyIsDeclaredWithAKey() throws {
    let previous = LMDBCache.defaultForEFStorage
    defer { LMDBCache.defaultForEFStorage = previous }
    LMDBCache.defaultForEFStorage = cache
    struct Station {
      @EFStorageLMDBCache(Weather.temperature)
      var temperature: Double
    }
    let station = Station()
    station.temperature = 12
    #expect(store.get(Weather.temperature) == 12)
  }

  @Test func aNamespaceIsARange() throws {
    store.set(Animals.count, value: 1)
    store.set(Cats.lion, value: "Aslan")
    store.set(Kittens.tom, value: 2)
    store.set(Weather.temperature, value: 3)
    try cache.set(0, forKey: "animalsx")
    #expect(store.count(in: Animals.self) == 3)
    #expect(store.count(in: Cats.self) == 2)
    #expect(store.count(in: GlobalNamespace.self) == 5)
    #expect(store.entries(in: Cats.self).map(\.key) == ["animals:cats:kittens:tom", "animals:cats:lion"])
    store.removeAll(in: Cats.self)
    #expect(store.count(in: Animals.self) == 1)
    #expect(store.get(Cats.lion) == nil)
    #expect(store.get(Animals.count) == 1)
    store.removeAll(in: Animals.self)
    #expect(store.count(in: GlobalNamespace.self) == 2)
    #expect(try cache.contains("animalsx"))
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
