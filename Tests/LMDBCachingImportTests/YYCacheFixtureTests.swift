import Foundation
import LMDBCaching
import LMDBCachingImport
import Testing

/// A store that YYCache itself wrote.
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

  private func expect<Value: Codable & Sendable & Equatable>(
    _ value: Value, and object: NSObject? = nil, forKey key: String
  ) throws {
    #expect(try cache.value(Value.self, forKey: key) == value, "\(key)")
    if let object { #expect(try cache.object(forKey: key) as? NSObject == object, "\(key)") }
  }

  @Test func everyEntryIsTakenWithItsTimes() throws {
    #expect(report.taken == 212 && report.examined == 212 && report.isComplete)
    #expect(report.refusals.isEmpty && report.present == 0 && report.expired == 0)
    for number in 0..<200 { try expect("value \(number)", forKey: String(format: "bulk-%03d", number)) }
    let entry = try #require(try cache.entry(forKey: "string"))
    let date = Date(timeIntervalSince1970: 1_795_229_951)
    #expect(entry.created == date && entry.lastAccess == date)
    // Opened for reading, a database would get a log and an index from SQLite.
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.fixture.path)
    #expect(names.sorted() == ["data", "manifest.sqlite"])
  }

  private struct Person: Codable, Sendable, Equatable {
    var name: String
    var tags: [String]
    var born: Int
  }

  @Test func objectsAreValuesAndObjects() throws {
    try expect("hello 1 é你好", and: NSString("hello 1 é你好"), forKey: "string")
    try expect(1042, and: NSNumber(value: 1042), forKey: "int")
    try expect(3.25, and: NSNumber(value: 3.25), forKey: "double")
    try expect(true, and: NSNumber(value: true), forKey: "bool")
    let date = Date(timeIntervalSinceReferenceDate: 700_000_001.5)
    try expect(date, and: NSDate(timeIntervalSinceReferenceDate: 700_000_001.5), forKey: "date")
    let url = try #require(URL(string: "https://example.org/path?q=1"))
    try expect(url, forKey: "url")
    #expect((try cache.object(forKey: "url") as? NSURL)?.absoluteString == url.absoluteString)
    for (key, count) in [("data", 256), ("big-data-in-a-file", 102_400)] {
      let bytes = Data((0..<count).map { UInt8(truncatingIfNeeded: $0) })
      try expect(bytes, forKey: key)
      #expect(try (cache.object(forKey: key) as? NSData).map { Data(bytes: $0.bytes, count: $0.length) } == bytes)
    }
    try expect(
      Person(name: "Ada", tags: ["x", "y"], born: 1815),
      and: ["name": "Ada", "tags": ["x", "y"], "born": 1815] as NSDictionary, forKey: "dictionary")
    let array = try cache.object(forKey: "array") as? NSArray
    #expect(array?.count == 4 && array?.object(at: 2) as? NSArray == [2, "b"] as NSArray)
    let long = try #require(try cache.entries().map(\.key).first { $0.utf8.count == 600 })
    for key in [long, "ключ/键 é"] { #expect(try cache.value(String.self, forKey: key) != nil, "\(key)") }
  }
}
