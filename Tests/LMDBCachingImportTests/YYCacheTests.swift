import Foundation
import LMDBCaching
import LMDBCachingImport
import TestSupport
import Testing

@Suite struct YYCacheTests {
  let place = Place()

  private func run(_ cache: LMDBCache) throws -> ImportReport {
    try CacheImport(from: .yyCache(directory: place.store)).run(into: cache)
  }

  @Test func timesAreKeptAsFarAsTheyCanHaveBeen() throws {
    let now = Date(timeIntervalSince1970: 1_700_000_000)
    let writer = try YYCacheWriter(at: place.store)
    let times: [(modified: Int, accessed: Int, expected: [Double])] = [
      (1_600_000_000, 1_650_000_000, [1_600_000_000, 1_650_000_000]),
      (1_800_000_000, 1_900_000_000, [1_700_000_000, 1_700_000_000]),
      (1_600_000_000, 1_500_000_000, [1_600_000_000, 1_600_000_000]), (0, -5, [1_700_000_000, 1_700_000_000]),
      (.max, .max, [1_700_000_000, 1_700_000_000]),
    ]
    for (index, row) in times.enumerated() {
      try writer.add("\(index)", archive(NSString("x")), modified: row.modified, accessed: row.accessed)
    }
    let cache = try place.cache { $0.clock = .manual(ManualClock(date: now)) }
    #expect(try run(cache).taken == times.count)
    for (entry, row) in zip(try cache.entries(), times) {
      let found = [entry.created.timeIntervalSince1970, entry.lastAccess.timeIntervalSince1970]
      #expect(found == row.expected && entry.expiration == nil, "\(row)")
    }
  }

  /// A program with its own archiving uses `customArchiveBlock`.
  @Test(arguments: [true, false])
  func otherArchivesAndExtendedDataAreTaken(_ hasClosure: Bool) throws {
    let writer = try YYCacheWriter(at: place.store)
    try writer.add("mutable", archive(NSMutableData(data: Data("text".utf8))))
    try writer.add("set", archive(NSSet(array: ["a", "b"])))
    try writer.add("json", Data(#"{"a":1}"#.utf8))
    try writer.add("with", archive(NSString("x")), extended: Data("more".utf8))
    try writer.add("empty", archive(NSString("z")), extended: Data())
    let cache = try place.cache()
    if hasClosure {
      cache.objectCoding.customUnarchive = { NSString(string: "own: " + String(decoding: $0, as: UTF8.self)) }
    }
    let report = try run(cache)
    #expect(report.taken == 5 && report.refused == 0 && reasons(report) == ["with": .extendedData])
    #expect(report.refusals.first?.message.contains("4 bytes") == true)
    #expect(try cache.value(String.self, forKey: "with") == "x")
    if hasClosure {
      #expect(try cache.object(forKey: "json") as? NSString == #"own: {"a":1}"#)
      return
    }
    #expect(try cache.value(Data.self, forKey: "json") == Data(#"{"a":1}"#.utf8))
    // Objects that are not plain stay archives.
    for key in ["mutable", "set"] { #expect(try cache.entry(forKey: key)?.format == .keyedArchive, "\(key)") }
    #expect(try cache.value(Data.self, forKey: "mutable") == Data("text".utf8))
    #expect(try cache.object(forKey: "mutable") is NSMutableData)
    #expect(try cache.value(Set<String>.self, forKey: "set") == ["a", "b"])
  }

  /// A killed program may leave the table only in the log.
  @Test func aLogIsReadFromACopy() throws {
    let writer = try YYCacheWriter(at: place.store, makesTable: false)
    try writer.execute("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; \(YYCacheWriter.table)")
    let keys = ["", "\0", "a\0b", String(repeating: "k", count: 511), String(repeating: "л", count: 5_000)]
    for key in keys { try writer.add(key, archive(NSNumber(value: key.count))) }
    let before = try TreeImage(place.store.path)
    #expect(try Data(contentsOf: place.store.appendingPathComponent("manifest.sqlite-wal")).count > 0)
    let cache = try place.cache()
    #expect(try run(cache).taken == keys.count)
    for key in keys { #expect(try cache.value(Int.self, forKey: key) == key.count) }
    let after = try TreeImage(place.store.path)
    #expect(before.losses(in: after) == [] && before.additions(in: after) == [])
    withExtendedLifetime(writer) {}
  }

  /// A leftover rollback journal: SQLite would play it back and remove it.
  @Test func aRollbackJournalIsIgnored() throws {
    let writer = try YYCacheWriter(at: place.store)
    for number in 0..<20 { try writer.add("\(number)", archive(NSNumber(value: number))) }
    // Without a page cache SQLite writes to the file before the commit.
    try writer.execute("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN")
    for number in 20..<400 { try writer.add("\(number)", archive(NSData(data: Data(count: 1_000)))) }
    let crashed = Place()
    try FileManager.default.copyItem(at: place.store, to: crashed.store)
    try writer.execute("ROLLBACK")
    #expect(try Data(contentsOf: crashed.store.appendingPathComponent("manifest.sqlite-journal")).count > 512)
    let before = try TreeImage(crashed.url.path)
    let cache = try place.cache()
    let report: ImportReport?
    do throws(ImportError) {
      report = try CacheImport(from: .yyCache(directory: crashed.store)).run(into: cache)
    } catch {
      report = error.report
    }
    #expect(report?.refusalCounts[.uncommittedChanges] == 1)
    #expect(try cache.value(Int.self, forKey: "0") == 0)
    let after = try TreeImage(crashed.url.path)
    #expect(before.losses(in: after) == [] && before.additions(in: after) == [])
  }
}
