import EFStorageStorez
import Foundation
import LMDBCaching
import Storez
import TestSupport
import Testing

private enum Season: String, Codable, Sendable, LMDBCacheStorable { case summer, winter }

/// Conforms to every kind; its conversion takes precedence.
private struct Label: Codable, Equatable, Sendable, LMDBConvertible, LMDBCacheStorable {
  var text: String
  init(_ text: String) { self.text = text }
  static func decode(lmdbValue value: Int) -> Label? { value < 0 ? nil : Label("number \(value)") }
  var encodeForLMDB: Int? { Int(text.dropFirst("number ".count)) }
}

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

  /// A store, the cache and a property read each other's values under one key.
  private func agree<V: Equatable>(
    _ values: [V], property: EFStorageLMDBCache<V>, store get: () -> V, _ set: (V) -> Void,
    cache read: () throws -> V, _ write: (V) throws -> Void, location: SourceLocation = #_sourceLocation
  ) throws {
    func expect(_ value: V, _ writer: Comment) throws {
      for _ in 0..<2 {
        let loaded = try property.loadContent() ?? property.makeDefaultContent()
        #expect(property.wrappedValue == value && loaded == value, writer, sourceLocation: location)
        #expect(get() == value, writer, sourceLocation: location)
        #expect(try read() == value, writer, sourceLocation: location)
        // From disk too.
        try cache.flush()
        cache.memory.removeAll()
      }
    }
    for value in values {
      property.wrappedValue = value
      try expect(value, "property")
      try cache.removeAll()
      set(value)
      try expect(value, "store")
      try cache.removeAll()
      try write(value)
      try expect(value, "cache")
    }
  }

  @Test func codableTypesAndObjects() throws {
    let season = Key<Weather, Season>(id: "season", defaultValue: .summer)
    try agree(
      [.summer, .winter], property: EFStorageLMDBCache(season, in: cache), store: { store.get(season) },
      { store.set(season, value: $0) }, cache: { try cache.value(forKey: season) },
      { try cache.set($0, forKey: season) })
    let city = Weather.city
    try agree(
      ["Rome", nil, "Oslo"], property: EFStorageLMDBCache(city, in: cache), store: { store.get(city) },
      { store.set(city, value: $0) }, cache: { try cache.value(forKey: city) }, { try cache.set($0, forKey: city) })
    let number = Key<Weather, NSNumber?>(id: "number", defaultValue: nil)
    try agree(
      [NSNumber(value: 4), nil], property: EFStorageLMDBCache(number, in: cache), store: { store.get(number) },
      { store.set(number, value: $0) }, cache: { try cache.value(forKey: number) },
      { try cache.set($0, forKey: number) })
  }

  @Test func typesWithAConversion() throws {
    let label = Key<Weather, Label?>(id: "label", defaultValue: nil)
    try agree(
      [Label("number 1"), nil, Label("number 2")], property: EFStorageLMDBCache(label, in: cache),
      store: { store.get(label) }, { store.set(label, value: $0) }, cache: { try cache.value(forKey: label) },
      { try cache.set($0, forKey: label) })
    #expect(try cache.value(Int.self, forKey: label.stringValue) == 2)
    let required = Key<Weather, Label>(id: "label", defaultValue: Label("number 0"))
    #expect(throws: CacheError.self) { try cache.set(Label("none"), forKey: required) }
    try cache.set(-1, forKey: label.stringValue)
    #expect(throws: CacheError.self) { try cache.value(forKey: required) }
  }

  /// A nil stored by a property is nil for all, regardless of the default.
  @Test func aStoredNil() throws {
    let city = Key<Weather, String?>(id: "city", defaultValue: "Rome")
    let property = EFStorageLMDBCache(city, in: cache)
    property.wrappedValue = nil
    #expect(property.wrappedValue == nil)
    #expect(try store.throwing { $0.get(city) } == nil)
    #expect(try cache.value(forKey: city) == nil)
    // The store treats it as absent.
    store.set(city, value: nil)
    #expect(property.wrappedValue == "Rome" && store.get(city) == "Rome")
  }
}
