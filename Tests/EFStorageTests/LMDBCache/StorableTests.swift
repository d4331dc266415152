import EFStorageLMDBCache
import Foundation
import Testing

private enum Mode: String, LMDBCacheStorable { case day, night }
private enum CodableMode: String, Codable, LMDBCacheStorable { case day, night }
private struct Flags: OptionSet, LMDBCacheStorable { let rawValue: Int }
private struct Person: Codable, Equatable, LMDBCacheStorable {
  var name: String
  var friends: [Person]
}

/// As users wrote it for YYCache, with the names changed.
private struct Ported: LMDBCacheStorable, Equatable {
  var words: [String]
  func asLMDBCacheStorable() -> Result<any NSCoding, any Error> {
    .success(NSString(string: words.joined(separator: " ")))
  }
  static func fromLMDBCache(_ lmdbCache: LMDBCache, forKey key: String) -> Ported? {
    ((try? lmdbCache.object(forKey: key)) as? NSString).map {
      Ported(words: String(describing: $0).components(separatedBy: " "))
    }
  }
}

private struct Temperature: Codable, Equatable, LMDBCacheStorable {
  var degrees: Double
  func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { "\(degrees)".asLMDBCacheStorable() }
  static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Temperature? {
    String.fromLMDBCache(cache, forKey: key).flatMap(Double.init).map(Temperature.init)
  }
}

// Not private: Foundation on Linux can name top-level classes only.
final class Marker: NSObject, NSCoding, LMDBCacheStorable {
  let number: Int
  init(_ number: Int) { self.number = number }
  required init?(coder: NSCoder) { number = coder.decodeInteger(forKey: "number") }
  func encode(with coder: NSCoder) { coder.encode(number, forKey: "number") }
  override func isEqual(_ object: Any?) -> Bool { (object as? Marker)?.number == number }
}

struct StorableTests {
  private func roundTrips<Content: LMDBCacheStorable & Equatable>(
    _ contents: [Content], location: SourceLocation = #_sourceLocation
  ) throws {
    let directory = try TemporaryDirectory()
    for content in contents {
      let cache = try directory.cache()
      EFStorageLMDBCacheRef.forKey("key", in: cache).content = content
      #expect(EFStorageLMDBCacheRef.forKey("key", in: cache).content == content, sourceLocation: location)
      try cache.close()
      let reopened = try directory.cache()
      #expect(EFStorageLMDBCacheRef.forKey("key", in: reopened).content == content, sourceLocation: location)
      try reopened.close()
    }
  }

  @Test func standardTypes() throws {
    try roundTrips(["", "é", "e\u{301}"])
    try roundTrips([true, false])
    try roundTrips([Int.min, 0, .max])
    try roundTrips([Int8.min, .max])
    try roundTrips([Int16.min, .max])
    try roundTrips([Int32.min, .max])
    try roundTrips([Int64.min, .max])
    try roundTrips([UInt.max])
    try roundTrips([UInt8.max])
    try roundTrips([UInt16.max])
    try roundTrips([UInt32.max])
    try roundTrips([UInt64.max])
    try roundTrips([Float.pi, -.infinity])
    try roundTrips([Double.pi, -.infinity])
    try roundTrips([CGFloat.pi])
    try roundTrips([Decimal(string: "123456789012345678901234567890.5")!])
    try roundTrips([Data(), Data([0, 255])])
    try roundTrips([Date(timeIntervalSinceReferenceDate: 700_000_001.512_345_678)])
    try roundTrips([URL(string: "https://example.org/a?b#c")!])
    try roundTrips([UUID()])
    try roundTrips([[1, 2], []])
    try roundTrips([["a": [1.5], "": []]])
    try roundTrips([Set(["a", "b"])])
    try roundTrips([[Data?.none, Data([1])]])
  }

  @Test func otherTypes() throws {
    try roundTrips([Mode.day, .night])
    try roundTrips([CodableMode.day, .night])
    try roundTrips([[Mode.day, .night], []])
    try roundTrips([Set([Mode.day, .night])])
    try roundTrips([["a": Mode.day]])
    try roundTrips([[CodableMode.day]])
    try roundTrips([Flags(rawValue: 5)])
    try roundTrips([Person(name: "a", friends: [Person(name: "b", friends: [])])])
    try roundTrips([Ported(words: ["two", "words"])])
    try roundTrips([Temperature(degrees: -3.5)])
    try roundTrips([Marker(3)])
    try roundTrips([NSString(string: "object")])
    try roundTrips([NSNumber(value: 42)])
    try roundTrips([NSArray(array: [NSNumber(value: 1)])])
  }

  @Test func rawValuesAreStoredAsThemselves() throws {
    let cache = try TemporaryDirectory().cache()
    EFStorageLMDBCacheRef.forKey("mode", in: cache).content = CodableMode.night
    #expect(try cache.value(String.self, forKey: "mode") == "night")
    EFStorageLMDBCacheRef.forKey("modes", in: cache).content = Set([Mode.night, .day])
    #expect(try cache.value(Set<String>.self, forKey: "modes") == ["day", "night"])
    EFStorageLMDBCacheRef.forKey("temperature", in: cache).content = Temperature(degrees: 1)
    #expect(try cache.value(String.self, forKey: "temperature") == "1.0")
  }

  @Test func unknownRawValueIsKept() throws {
    let cache = try TemporaryDirectory().cache()
    try cache.set("dusk", forKey: "mode")
    try cache.set(["day", "dusk"], forKey: "modes")
    let failures = Failures(of: "mode")
    #expect(EFStorageLMDBCacheRef<Mode>.forKey("mode", in: cache).content == nil)
    #expect(EFStorageLMDBCacheRef<[Mode]>.forKey("modes", in: cache).content == nil)
    #expect(failures.kinds == [.loading])
    #expect(try cache.value(forKey: "mode") == "dusk")
  }

  /// Elements without raw values must be Codable.
  @Test func otherElementsAreRefused() throws {
    let cache = try TemporaryDirectory().cache()
    let failures = Failures(of: "ported")
    EFStorageLMDBCacheRef.forKey("ported", in: cache).content = [Ported(words: ["a"])]
    #expect(failures.kinds == [.conversion])
    #expect(try !cache.contains("ported"))
  }

  @Test func storedNilIsNotNothing() throws {
    let directory = try TemporaryDirectory()
    for _ in 0..<2 {
      let cache = try directory.cache()
      let failures = Failures(of: "optional")
      let property = EFStorageLMDBCache<String?>(wrappedValue: "default", forKey: "optional", in: cache)
      #expect(property.wrappedValue == (property.content == nil ? "default" : nil))
      property.wrappedValue = nil
      #expect(property.wrappedValue == nil)
      property.wrappedValue = "some"
      #expect(property.wrappedValue == "some")
      property.wrappedValue = nil
      #expect(failures.all.isEmpty)
      try cache.close()
    }
    let cache = try directory.cache()
    #expect(EFStorageLMDBCache<String?>(wrappedValue: "default", forKey: "optional", in: cache).wrappedValue == nil)
    #expect(EFStorageLMDBCache<Int?>(wrappedValue: 1, forKey: "nothing", in: cache).wrappedValue == 1)
  }

  /// A default would overwrite the unreadable value.
  @Test func whatCannotBeReadIsNotNothing() throws {
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    try cache.set("words", forKey: "ported")
    try cache.close()
    let error = #expect(throws: CacheError.self) { try Ported.loadFromLMDBCache(cache, forKey: "ported") }
    #expect(error?.code == .closed)
  }
}
