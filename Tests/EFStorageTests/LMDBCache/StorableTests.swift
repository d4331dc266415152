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
  private typealias AnyContent = any LMDBCacheStorable & Equatable

  private static var contents: [AnyContent] {
    let numbers: [AnyContent] = [
      Int.min, Int.max, Int8.min, Int16.min, Int32.min, Int64.min, UInt.max, UInt8.max, UInt16.max, UInt32.max,
      UInt64.max, Float.infinity, Double.pi, CGFloat.pi, Decimal(string: "123456789012345678901234567890.5")!,
    ]
    let values: [AnyContent] = [
      "", "\u{e9}", "e\u{301}", true, false, Data(), Data([0, 255]), UUID(), URL(string: "https://example.org/a?b#c")!,
      Date(timeIntervalSinceReferenceDate: 700_000_001.512_345_678), NSString(string: "object"), NSNumber(value: 42),
      NSArray(array: [NSNumber(value: 1)]), Mode.night, CodableMode.night, Flags(rawValue: 5), Marker(3),
      Person(name: "a", friends: [Person(name: "b", friends: [])]), Ported(words: ["two", "words"]),
      Temperature(degrees: -3.5),
    ]
    let collections: [AnyContent] = [
      [1, 2] as [Int], [] as [Int], ["a": [1.5], "": []] as [String: [Double]], Set(["a", "b"]),
      [Data?.none, Data([1])] as [Data?], [Mode.day, .night] as [Mode], [] as [Mode], Set([Mode.day, .night]),
      ["a": Mode.day] as [String: Mode], [CodableMode.day] as [CodableMode],
    ]
    return numbers + values + collections
  }

  /// Stores contents of every type, and reads them from memory and after reopening.
  @Test func everyTypeComesBack() throws {
    let directory = try TemporaryDirectory()
    let contents = Self.contents.enumerated()
    func expectStored<Content: LMDBCacheStorable & Equatable>(_ content: Content, _ key: String, in cache: LMDBCache) {
      #expect(EFStorageLMDBCacheRef<Content>.forKey(key, in: cache).content == content)
    }
    func store<Content: LMDBCacheStorable & Equatable>(_ content: Content, _ key: String, in cache: LMDBCache) {
      EFStorageLMDBCacheRef<Content>.forKey(key, in: cache).content = content
      expectStored(content, key, in: cache)
    }
    let cache = try directory.cache()
    for (number, content) in contents { store(content, "key\(number)", in: cache) }
    try cache.close()
    let reopened = try directory.cache()
    for (number, content) in contents { expectStored(content, "key\(number)", in: reopened) }
    try reopened.close()
  }

  @Test func rawValuesAreStoredAsThemselves() throws {
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    EFStorageLMDBCacheRef.forKey("mode", in: cache).content = CodableMode.night
    #expect(try cache.value(String.self, forKey: "mode") == "night")
    EFStorageLMDBCacheRef.forKey("modes", in: cache).content = Set([Mode.night, .day])
    #expect(try cache.value(Set<String>.self, forKey: "modes") == ["day", "night"])
    EFStorageLMDBCacheRef.forKey("temperature", in: cache).content = Temperature(degrees: 1)
    #expect(try cache.value(String.self, forKey: "temperature") == "1.0")
    // Elements without raw values must be Codable.
    let failures = Failures(of: "ported")
    EFStorageLMDBCacheRef.forKey("ported", in: cache).content = [Ported(words: ["a"])]
    #expect(try failures.kinds == [.conversion] && !cache.contains("ported"))
  }

  @Test func whatCannotBeReadIsReportedOnce() throws {
    let directory = try TemporaryDirectory()
    let cache = try directory.cache()
    try cache.set("dusk", forKey: "mode")
    let failures = Failures(of: "mode")
    let property = EFStorageLMDBCache(wrappedValue: Mode.day, forKey: "mode", in: cache)
    for _ in 0..<10 { #expect(property.wrappedValue == .day) }
    #expect(failures.kinds == [.loading] && property._ref.lastFailure?.kind == .loading)
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
