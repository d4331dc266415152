import Foundation
import LMDBCaching
import LMDBCachingImport
import TestSupport
import Testing

@Suite struct YYCacheFixtureTests {
  static let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Fixtures/yycache")

  let place = Place()
  let cache: LMDBCache
  let report: ImportReport

  init() throws {
    // In 2033, when everything has expired.
    cache = try place.cache { $0.clock = .manual(ManualClock(date: Date(timeIntervalSince1970: 2_000_000_000))) }
    report = try CacheImport(from: .yyCache(directory: Self.fixture)).run(into: cache)
  }

  private func object<Object>(_ type: Object.Type, _ key: String) throws -> Object? {
    try cache.object(forKey: key) as? Object
  }

  @Test func everyEntryIsTakenWithItsTimes() throws {
    #expect(report.taken == 212 && report.examined == 212 && report.isComplete)
    #expect(report.refusals.isEmpty && report.present == 0 && report.expired == 0)
    #expect(try cache.count == 212)
    for number in 0..<200 {
      #expect(try cache.value(String.self, forKey: String(format: "bulk-%03d", number)) == "value \(number)")
    }
    let entry = try #require(try cache.entry(forKey: "string"))
    #expect(entry.created == Date(timeIntervalSince1970: 1_795_229_951))
    #expect(entry.lastAccess == Date(timeIntervalSince1970: 1_795_229_951))
    // Opened for reading, a database would get a log and an index from SQLite.
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.fixture.path)
    #expect(names.sorted() == ["data", "manifest.sqlite"])
  }

  @Test func scalarsAreValuesAndObjects() throws {
    #expect(try cache.value(String.self, forKey: "string") == "hello 1 é你好")
    #expect(try object(NSString.self, "string") == "hello 1 é你好")
    #expect(try cache.value(Int.self, forKey: "int") == 1042)
    #expect(try object(NSNumber.self, "int") == 1042)
    #expect(try cache.value(Double.self, forKey: "double") == 3.25)
    #expect(try object(NSNumber.self, "double") == 3.25)
    #expect(try cache.value(Bool.self, forKey: "bool") == true)
    #expect(try object(NSNumber.self, "bool") == NSNumber(value: true))
    #expect(try cache.value(Date.self, forKey: "date") == Date(timeIntervalSinceReferenceDate: 700_000_001.5))
    #expect(try object(NSDate.self, "date")?.timeIntervalSinceReferenceDate == 700_000_001.5)
    #expect(try cache.value(URL.self, forKey: "url")?.absoluteString == "https://example.org/path?q=1")
    #expect(try object(NSURL.self, "url")?.absoluteString == "https://example.org/path?q=1")
  }

  @Test(arguments: [("data", 256), ("big-data-in-a-file", 102_400)])
  func dataIsBytesAndAnObject(_ key: String, _ count: Int) throws {
    let expected = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
    #expect(try cache.value(Data.self, forKey: key) == expected)
    #expect(try cache.withoutMemory.value(Data.self, forKey: key) == expected)
    #expect(try object(NSData.self, key).map { Data(bytes: $0.bytes, count: $0.length) } == expected)
  }

  private struct Person: Codable, Sendable, Equatable {
    var name: String
    var tags: [String]
    var born: Int
  }

  private struct Mixed: Codable, Sendable, Equatable {
    var first: String
    var second: Int
    var third: [String]
    var fourth: [String: String]

    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      first = try container.decode(String.self)
      second = try container.decode(Int.self)
      var inner = try container.nestedUnkeyedContainer()
      third = ["\(try inner.decode(Int.self))", try inner.decode(String.self)]
      fourth = try container.decode([String: String].self)
    }
  }

  @Test func collectionsAreValuesAndObjects() throws {
    #expect(
      try cache.value(Person.self, forKey: "dictionary") == Person(name: "Ada", tags: ["x", "y"], born: 1815))
    let dictionary = try object(NSDictionary.self, "dictionary")
    #expect(dictionary == ["name": "Ada", "tags": ["x", "y"], "born": 1815] as NSDictionary)
    let mixed = try cache.value(Mixed.self, forKey: "array")
    #expect(mixed?.first == "a" && mixed?.second == 1 && mixed?.third == ["2", "b"] && mixed?.fourth == ["k": "v"])
    #expect(try object(NSArray.self, "array")?.count == 4)
    #expect(try object(NSArray.self, "array")?.object(at: 2) as? NSArray == [2, "b"] as NSArray)
  }

  @Test func keysAreTheSame() throws {
    let keys = try cache.entries().map(\.key)
    let long = try #require(keys.first { $0.utf8.count == 600 })
    #expect(long.hasPrefix("long-key-long-key-"))
    #expect(try cache.value(String.self, forKey: long) != nil)
    #expect(try cache.value(String.self, forKey: "ключ/键 é") != nil)
    #expect(try cache.object(forKey: "ключ/键 é") is NSString)
  }
}
