import Foundation
import FoundationArchives
import Platform
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ImportedEntryTests {
  enum Company: CaseIterable, Sendable {
    case none
    case process
  }

  let directory = CacheDirectory()
  private let past: Int64 = 1_600_000_000_000_000_000

  private func open(
    _ company: Company, _ change: (inout CacheConfiguration) -> Void = { _ in }
  ) throws -> (LMDBCache, ChildProcess?) {
    let cache = try directory.open(change)
    if company == .none { return (cache, nil) }
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    return (cache, child)
  }

  private func entry(
    _ key: String, _ text: String, expires: Int64 = 0
  ) throws(CacheError) -> ImportedEntry {
    try ImportedEntry(key: key, value: .plain(.string(text)), created: past, lastAccess: past + 1, expires: expires)
  }

  private func take(_ cache: LMDBCache, _ entries: [ImportedEntry], replacing: Bool = false) throws -> [Bool] {
    try cache.take(entries, replacing: replacing)
  }

  @Test(arguments: Company.allCases, Place.allCases)
  func whatIsThereStays(_ company: Company, _ place: Place) throws {
    let (cache, child) = try open(company)
    try cache.set("there", forKey: "b")
    try place.settle(cache)
    #expect(try take(cache, [entry("a", "1"), entry("b", "2"), entry("c", "3")]) == [true, false, true])
    #expect(try ["a", "b", "c"].map { try cache.value(String.self, forKey: $0) } == ["1", "there", "3"])
    #expect(try take(cache, [entry("a", "4"), entry("d", "5")]) == [false, true])
    #expect(try take(cache, [entry("a", "6"), entry("b", "7")]) == [false, false])
    #expect(try cache.count == 4)
    child?.end()
    try cache.close()
  }

  @Test(arguments: Company.allCases, Place.allCases)
  func whatIsThereIsReplaced(_ company: Company, _ place: Place) throws {
    let (cache, child) = try open(company)
    try cache.set("there", forKey: "b")
    #expect(try cache.value(String.self, forKey: "b") == "there")
    try place.settle(cache)
    let values = [try entry("a", "1"), try entry("b", "2"), try entry("a", "3")]
    #expect(try take(cache, values, replacing: true) == [true, true, true])
    #expect(try ["a", "b"].map { try cache.value(String.self, forKey: $0) } == ["3", "2"])
    child?.end()
    try cache.close()
  }

  @Test(arguments: Company.allCases)
  func theFirstOfSeveralIsTaken(_ company: Company) throws {
    let (cache, child) = try open(company)
    #expect(
      try take(cache, [entry("a", "1"), entry("a", "2"), entry("é", "3"), entry("e\u{301}", "4")]) == [
        true, false, true, true,
      ])
    #expect(try cache.value(String.self, forKey: "a") == "1")
    child?.end()
    try cache.close()
  }

  @Test(arguments: Company.allCases)
  func timesAreKept(_ company: Company) throws {
    let (cache, child) = try open(company)
    let expires = RealTimeClock.nanoseconds + 3_600_000_000_000
    _ = try take(cache, [entry("a", "1", expires: expires)])
    let found = try #require(try cache.entry(forKey: "a"))
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

  @Test func observersAreTold() async throws {
    let cache = try directory.open()
    var changes = cache.changes().makeAsyncIterator()
    _ = try take(cache, [entry("a", "1")])
    let change = await changes.next()
    #expect(change?.key == "a")
    try await cache.close()
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

  @Test func whatIsTooLongIsAnError() throws {
    let key = String(repeating: "k", count: 16 << 20 + 1)
    #expect(errorCode { try entry(key, "x") } == .invalidArgument)
  }

  @Test func aFailureOfTheDiskIsThrown() throws {
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
