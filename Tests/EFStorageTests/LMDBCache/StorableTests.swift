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
  /// Stores contents of every type under a key each, and reads them from memory and after reopening.
  @Test func everyTypeComesBack() throws {
    let directory = try TemporaryDirectory()
    var checks: [(LMDBCache) -> Void] = []
    var cache = try directory.cache()
    func add<Content: LMDBCacheStorable & Equatable>(
      _ contents: Content..., location: SourceLocation = #_sourceLocation
    ) {
      for content in contents {
        let key = "key\(checks.count)"
        EFStorageLMDBCacheRef<Content>.forKey(key, in: cache).content = content
        checks.append { cache in
          #expect(EFStorageLMDBCacheRef<Content>.forKey(key, in: cache).content == content, sourceLocation: location)
        }
      }
    }
    add("", "é", "e\u{301}")
    add(true, false)
    add(Int.min, 0, .max)
    add(Int8.min, .max)
    add(Int16.min, .max)
    add(Int32.min, .max)
    add(Int64.min, .max)
    add(UInt.max)
    add(UInt8.max)
    add(UInt16.max)
    add(UInt32.max)
    add(UInt64.max)
    add(Float.pi, -.infinity)
    add(Double.pi, -.infinity)
    add(CGFloat.pi)
    add(Decimal(string: "123456789012345678901234567890.5")!)
    add(Data(), Data([0, 255]))
    add(Date(timeIntervalSinceReferenceDate: 700_000_001.512_345_678))
    add(URL(string: "https://example.org/a?b#c")!)
    add(UUID())
    add([1, 2], [])
    add(["a": [1.5], "": []])
    add(Set(["a", "b"]))
    add([Data?.none, Data([1])])
    add(Mode.day, .night)
    add(CodableMode.day, .night)
    add([Mode.day, .night], [])
    add(Set([Mode.day, .night]))
    add(["a": Mode.day])
    add([CodableMode.day])
    add(Flags(rawValue: 5))
    add(Person(name: "a", friends: [Person(name: "b", friends: [])]))
    add(Ported(words: ["two", "words"]))
    add(Temperature(degrees: -3.5))
    add(Marker(3))
    add(NSString(string: "object"))
    add(NSNumber(value: 42))
    add(NSArray(array: [NSNumber(value: 1)]))
    for check in checks { check(cache) }
    try cache.close()
    cache = try directory.cache()
    for check in checks { check(cache) }
    try cache.close()
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

  @Test func whatCannotBeReadIsKeptAndReportedOnce() throws {
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    try cache.set("dusk", forKey: "mode")
    try cache.set(["day", "dusk"], forKey: "modes")
    let failures = Failures(of: "mode")
    let property = EFStorageLMDBCache(wrappedValue: Mode.day, forKey: "mode", in: cache, persistDefaultContent: true)
    for _ in 0..<10 { #expect(property.wrappedValue == .day) }
    #expect(EFStorageLMDBCacheRef<[Mode]>.forKey("modes", in: cache).content == nil)
    #expect(failures.kinds == [.loading] && property._ref.lastFailure?.kind == .loading)
    #expect(try cache.value(forKey: "mode") == "dusk")
    property.wrappedValue = .night
    #expect(property.wrappedValue == .night && property._ref.lastFailure == nil)
    // A closed cache cannot be read either.
    try cache.close()
    #expect(property._ref.content == nil)
    property._ref.content = .day
    #expect(failures.kinds == [.loading, .loading, .storage])
    let error = #expect(throws: CacheError.self) { try Ported.loadFromLMDBCache(cache, forKey: "ported") }
    #expect(error?.code == .closed)
  }
}
