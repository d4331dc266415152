import Foundation
import LMDBCaching
import LMDBCachingImport
import TestSupport
import Testing

/// Forged or damaged YYCache directories.
@Suite struct HostileManifestTests {
  let place = Place()

  private func run(_ cache: LMDBCache? = nil) throws -> ImportReport {
    try CacheImport(from: .yyCache(directory: place.store)).run(into: cache ?? place.cache())
  }

  @Test func filesElsewhereAreNotOpened() throws {
    let secret = try archive(NSString("secret"))
    try place.write(secret, to: "secret")
    try place.write(secret, to: "store/secret")
    try place.write(secret, to: "store/data/folder/secret")
    let writer = try YYCacheWriter(at: place.store)
    let foreign = ["../secret", "../../secret", "folder/secret", place.path("secret"), ".", "..", "./x"]
    // Refused as entries, not ignored as foreign files.
    let unreadable = ["folder", "link", "fifo", String(repeating: "n", count: 300)]
    #expect(symlink(place.path("secret"), place.path("store/data/link")) == 0)
    #expect(mkfifo(place.path("store/data/fifo"), 0o600) == 0)
    for name in foreign + unreadable { try writer.add("?1, ?2, 1, null, 1, 1, null", name, name, nil, nil) }
    try writer.add("fine", secret)
    let cache = try place.cache()
    let report = try run(cache)
    #expect(report.taken == 1 && report.isComplete && report.refused == foreign.count + unreadable.count)
    for name in foreign { #expect(reasons(report)[name] == .foreignName, "\(name)") }
    for name in unreadable.prefix(3) { #expect(reasons(report)[name] == .unreadable, "\(name)") }
    #expect(try cache.entries().map(\.key) == ["fine"])
  }

  @Test func badRowsDoNotEndIt() throws {
    let value = try archive(NSString("x"))
    let writer = try YYCacheWriter(at: place.store)
    try writer.add("first", value)
    // Rows with no value or file, an invalid key, or types that only SQLite's loose typing allows.
    try writer.add("nothing", nil)
    try writer.add("empty", Data())
    try writer.add("null, null, 1, x'00', 1, 1, null", "", nil, nil, nil)
    try writer.add("x'ff', null, 1, x'00', 1, 1, null", "", nil, nil, nil)
    try writer.add("cast(x'ff41' as text), null, 1, x'00', 1, 1, null", "", nil, nil, nil)
    try writer.add("?1, x'2e2e', 1, null, 1, 1, null", "blob name", nil, nil, nil)
    try writer.add("?1, null, 'x', ?3, 'then', x'00', 7", "texts", nil, value, nil)
    try writer.add("?1, null, 1, 3.5, 1.5, 1e300, null", "numbers", nil, nil, nil)
    try writer.add("gone", value, file: "gone")
    try FileManager.default.removeItem(atPath: place.path("store/data/gone"))
    try writer.add("cut", value, file: "cut", size: value.count + 1)
    try writer.add("damaged", value.prefix(value.count - 10))
    try writer.add("last", value)
    let cache = try place.cache()
    let report = try run(cache)
    #expect(report.isComplete && report.examined == 13)
    let reasons = reasons(report)
    // Extended data of any type counts.
    for (key, reason) in [
      "nothing": .missingValue, "empty": .missingValue, "gone": .missingValue, "blob name": .foreignName,
      "cut": .damagedValue, "damaged": .damagedValue, "texts": .extendedData,
    ] as [String: ImportRefusal.Reason] { #expect(reasons[key] == reason, "\(key)") }
    #expect(report.refusalCounts[.unreadableKey] == 3 && report.taken == 4)
    // A text value is imported as its bytes.
    #expect(Set(try cache.entries().map(\.key)) == ["first", "last", "numbers", "texts"])
  }

  private static let columns =
    "key text, filename text, size integer, modification_time integer, last_access_time integer, extended_data blob"

  @Test(arguments: [
    "CREATE TABLE other (key text)",
    "CREATE TABLE manifest (key text, filename text)",
    "CREATE TABLE manifest (\(columns), inline_data blob, primary key(key)) WITHOUT ROWID",
    "CREATE TABLE manifest (\(columns), inline_data blob GENERATED ALWAYS AS (zeroblob(900000000)))",
    "CREATE TABLE manifest (\(columns), inline_data blob, rowid integer)",
    "CREATE TABLE t (a); CREATE VIEW manifest AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
      + "SELECT i AS key, i AS filename, i AS size, i AS inline_data, i AS modification_time, i AS last_access_time, "
      + "i AS extended_data FROM n",
  ])
  func otherSchemasAreRefused(_ schema: String) throws {
    let writer = try YYCacheWriter(at: place.store, makesTable: false)
    try writer.execute(schema)
    let error = importError { try run() }
    #expect(error?.code == .foreignSource && error?.message.contains("manifest.sqlite") == true)
    withExtendedLifetime(writer) {}
  }

  @Test func whatIsNoDatabaseIsAnError() throws {
    for text in ["", "SQLite format 3\0", "not a database at all, but long enough to be looked at as one"] {
      try place.write(text.utf8, to: "store/manifest.sqlite")
      let code = importErrorCode { try run() }
      #expect(code == .damagedSource || code == .foreignSource, "\(text)")
    }
  }

  @Test(arguments: ["manifest.sqlite", "manifest.sqlite-wal", "manifest.sqlite-journal", "data"])
  func linksInTheDirectoryAreNotFollowed(_ name: String) throws {
    let writer = try YYCacheWriter(at: place.store)
    try writer.add("key", archive(NSString("x")))
    let file = place.store.appendingPathComponent(name)
    if FileManager.default.fileExists(atPath: file.path) {
      try FileManager.default.moveItem(at: file, to: place.url.appendingPathComponent("moved"))
    } else {
      try place.write("x".utf8, to: "moved")
    }
    #expect(symlink(place.path("moved"), file.path) == 0)
    #expect(importErrorCode { try run() } == .foreignSource)
    withExtendedLifetime(writer) {}
  }

  /// An overwritten page, a file that is cut off, or flipped bytes: the import takes the readable rows.
  @Test(arguments: 0..<32)
  func whatIsReadableOfADamagedDatabaseIsTaken(_ seed: Int) throws {
    do {
      let writer = try YYCacheWriter(at: place.store)
      try writer.execute("BEGIN")
      for number in 0..<400 { try writer.add("\(number)", archive(NSData(data: Data(count: 300 + number)))) }
      try writer.execute("COMMIT")
    }
    let file = place.store.appendingPathComponent("manifest.sqlite")
    var bytes = try Data(contentsOf: file)
    var random = SeededRandom(UInt64(seed))
    switch seed % 4 {
    case 0, 1:
      let page = 4_096 * Int.random(in: 1..<bytes.count / 4_096, using: &random)
      bytes.replaceSubrange(page..<page + 4_096, with: random.bytes(4_096))
    case 2: bytes.removeLast(1 + random.below(bytes.count - 1))
    default: for _ in 0..<20 { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
    }
    try bytes.write(to: file)
    let cache = try place.cache()
    var report: ImportReport?
    do {
      report = try run(cache)
    } catch let error as ImportError {
      #expect([.damagedSource, .foreignSource, .unreadableSource].contains(error.code), "\(error)")
      // Without the schema nothing is readable.
      report = error.report
      #expect(report?.isComplete != true)
    }
    #expect(try cache.count == report?.taken ?? 0)
    guard seed % 4 < 2, let report else { return }
    #expect(report.examined <= 400 + report.refused)
    for entry in try cache.entries() {
      #expect(try cache.value(Data.self, forKey: entry.key)?.count == 300 + (Int(entry.key) ?? 0))
    }
  }
}
