import Foundation
import FoundationArchives
import LMDBCaching
import Platform
import TestSupport
import Testing

@Suite struct ImportedEntryTests {
  let directory = CacheDirectory()
  private let past: Int64 = 1_600_000_000_000_000_000

  private func entry(
    _ key: String, _ text: String, expires: Int64 = 0
  ) throws(CacheError) -> ImportedEntry {
    try ImportedEntry(key: key, value: .plain(.string(text)), created: past, lastAccess: past + 1, expires: expires)
  }

  /// Present entries stay or are replaced; of several with one key, the first or the last is taken.
  @Test(arguments: Company.allCases) func entriesAreTakenInOrder(_ company: Company) throws {
    let cache = try directory.open(neverCommitting)
    let child = try company.join(directory)
    try cache.set("there", forKey: "b")
    let changes = cache.changes()
    let entries = try [entry("a", "1"), entry("b", "2"), entry("é", "3"), entry("e\u{301}", "4"), entry("a", "5")]
    #expect(try cache.take(entries, replacing: false) == [true, false, true, true, false])
    if company == .none { #expect(changes.taken().contains(.set(key: "a"))) }
    #expect(try ["a", "b", "é", "e\u{301}"].map(cache.text) == ["1", "there", "3", "4"])
    #expect(try cache.take(entries, replacing: true) == [true, true, true, true, true])
    #expect(try ["a", "b"].map(cache.text) == ["5", "2"] && cache.count == 4)
    // The times are the entry's own.
    let expires = RealTimeClock.nanoseconds + 3_600_000_000_000
    #expect(try cache.take([entry("c", "1", expires: expires)], replacing: false) == [true])
    let found = try #require(try cache.entry(forKey: "c"))
    #expect(found.created == Date(timeIntervalSince1970: 1_600_000_000) && found.lastAccess == found.created)
    #expect(abs(try #require(found.expiration).timeIntervalSince1970 - Double(expires) / 1e9) < 1e-3)
    child?.end()
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
    #expect(errorCode { try cache.take([long], replacing: false) } == .noSpace)
    FaultInjection.end(session)
    #expect(try cache.value(Data.self, forKey: "long") == nil)
    #expect(eventually { (try? cache.take([long], replacing: false)) == [true] })
    try cache.flush()
    try cache.close()
  }
}

extension LMDBCache {
  fileprivate func text(_ key: String) throws -> String? { try value(String.self, forKey: key) }
}
