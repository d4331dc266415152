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

/// A store, the cache and a property read each other's values under one key.
struct StoredFormTests {
  private let temporary: TemporaryCache
  private var store: LMDBStore { temporary.store }
  private var cache: LMDBCache { temporary.cache }

  init() throws { temporary = try TemporaryCache() }

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
