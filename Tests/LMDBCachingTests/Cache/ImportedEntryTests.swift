import Foundation
import FoundationArchives
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ImportedEntryTests {
  let directory = CacheDirectory()
  private let past: Int64 = 1_600_000_000_000_000_000

  private func entry(
    _ key: String, _ text: String, expires: Int64 = 0
  ) throws(CacheError) -> ImportedEntry {
    try ImportedEntry(key: key, value: .plain(.string(text)), created: past, lastAccess: past + 1, expires: expires)
  }

  private func take(_ cache: LMDBCache, _ entries: [ImportedEntry], replacing: Bool = false) throws -> [Bool] {
    try cache.take(entries, replacing: replacing)
  }

  private func texts(_ cache: LMDBCache, _ keys: String...) throws -> [String?] {
    try keys.map { try cache.value(String.self, forKey: $0) }
  }

  /// Present entries stay or are replaced, wherever they are; of several with one key, the first or the last is taken.
  @Test(arguments: Company.allCases, Place.allCases)
  func entriesAreTakenInOrder(_ company: Company, _ place: Place) throws {
    let cache = try directory.open(neverCommitting)
    let child = try company.join(directory)
    try cache.set("there", forKey: "b")
    try place.settle(cache)
    let changes = cache.changes()
    #expect(
      try take(cache, [entry("a", "1"), entry("b", "2"), entry("é", "3"), entry("e\u{301}", "4"), entry("a", "5")]) == [
        true, false, true, true, false,
      ])
    if company == .none { #expect(changes.taken().contains(.set(key: "a"))) }
    #expect(try texts(cache, "a", "b", "é", "e\u{301}") == ["1", "there", "3", "4"])
    #expect(try take(cache, [entry("a", "6"), entry("b", "7")]) == [false, false])
    #expect(
      try take(cache, [entry("a", "1"), entry("b", "2"), entry("a", "3")], replacing: true) == [true, true, true])
    #expect(try texts(cache, "a", "b") == ["3", "2"])
    #expect(try cache.count == 4)
    // The times are the entry's own.
    let expires = RealTimeClock.nanoseconds + 3_600_000_000_000
    _ = try take(cache, [entry("c", "1", expires: expires)])
    let found = try #require(try cache.entry(forKey: "c"))
    #expect(found.created == Date(timeIntervalSince1970: 1_600_000_000) && found.lastAccess == found.created)
    #expect(abs(try #require(found.expiration).timeIntervalSince1970 - Double(expires) / 1e9) < 1e-3)
    child?.end()
    try cache.close()
  }

  @Test func aWriteInBetweenIsNewer() throws {
    let cache = try directory.open()
    // A write may come between the presence check and the conditional write, which then fails.
    let entries = try (0..<50).map { try entry("key \($0)", "old") }
    for round in 0..<20 {
      let key = "key \(round)"
      let thread = Thread { try! cache.set("new", forKey: key) }
      thread.start()
      let taken = try take(cache, entries)
      while !thread.isFinished { sched_yield() }
      #expect(try cache.value(String.self, forKey: key) == "new", "\(taken)")
      try cache.removeAll()
    }
    try cache.close()
  }

  @Test func valuesAreStoredAsWhatTheyAre() throws {
    let cache = try directory.open()
    let uuid = UUID()
    let values: [(String, PlainValue, ArchiveFormat)] = [
      ("bool", .bool(true), .bool), ("integer", .integer(-3), .signedInteger),
      ("unsigned", .unsigned(.max), .unsignedInteger),
      ("double", .double(0.5), .double), ("string", .string("text"), .string), ("data", .data(Data([1])), .bytes),
      ("date", .date(Date(timeIntervalSinceReferenceDate: 1.5)), .date),
      ("url", .url(URL(string: "https://example.org")!), .url), ("uuid", .uuid(uuid), .uuid),
      ("array", .array([.integer(1), .null]), .objectGraph),
      ("dictionary", .dictionary([.init(key: "k", value: .string("v"))]), .objectGraph),
      ("null", .null, .objectGraph),
    ]
    for (key, value, format) in values {
      let imported = try ImportedEntry(key: key, value: .plain(value), created: nil, lastAccess: nil, expires: 0)
      #expect(try take(cache, [imported]) == [true])
      #expect(try cache.entry(forKey: key)?.format == format, "\(key)")
      let object = try #require(try cache.object(forKey: key) as? NSObject)
      #expect(object.isEqual(value.object), "\(key)")
    }
    #expect(try cache.value([Int?].self, forKey: "array") == [1, nil])
    #expect(try cache.value([Double?].self, forKey: "array") == [1, nil])
    #expect(try cache.value(Double.self, forKey: "integer") == -3 && cache.value(Float.self, forKey: "double") == 0.5)
    #expect(try cache.value([String: String].self, forKey: "dictionary") == ["k": "v"])
    #expect(try cache.value(UInt64.self, forKey: "unsigned") == .max && cache.value(UUID.self, forKey: "uuid") == uuid)
    try cache.close()
  }

  @Test func failuresAreThrown() throws {
    let tooLong = String(repeating: "k", count: 16 << 20 + 1)
    #expect(errorCode { try entry(tooLong, "x") } == .invalidArgument)
    let cache = try directory.open { $0.disk.journalSize = 64 << 10 }
    let long = try ImportedEntry(
      key: "long", value: .bytes(Data(count: 2 << 20)), created: nil, lastAccess: nil, expires: 0)
    let session = FaultInjection.begin(
      .directory(directory.path),
      [.init(.pwrite, returns: ENOSPC, count: .max), .init(.fallocate, returns: ENOSPC, count: .max)])
    #expect(errorCode { try take(cache, [long]) } == .noSpace)
    FaultInjection.end(session)
    #expect(try cache.value(Data.self, forKey: "long") == nil)
    #expect(eventually { (try? take(cache, [long])) == [true] })
    try cache.flush()
    try cache.close()
  }
}
