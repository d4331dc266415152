import Foundation
import LMDBCaching
import LMDBCachingImport
import TestSupport
import Testing

@Suite struct PINCacheTests {
  let place = Place()

  private func run(_ cache: LMDBCache) throws -> ImportReport {
    try CacheImport(from: .pinCache(directory: place.store)).run(into: cache)
  }

  @Test func namesAreDecoded() throws {
    let keys = ["https://example.org/a.png?x=%20", ".hidden", "..", "ключ", "a\nb", "100%", "%2E"]
    for key in keys { try PINCacheWriter.add(key, archive(NSString(string: key)), to: place) }
    let cache = try place.cache()
    #expect(try run(cache).taken == keys.count)
    for key in keys { #expect(try cache.value(String.self, forKey: key) == key) }
  }

  @Test func whatIsNoEntryIsLeft() throws {
    try PINCacheWriter.add("key", archive(NSString("x")), to: place)
    // Not one of PINCache's files, since it encodes dots.
    try place.write([1], to: "store/.DS_Store")
    try place.write([1], to: "store/folder/file")
    try place.write(archive(NSString("y")), to: "store/100%")
    try place.write(archive(NSString("y")).dropLast(9), to: "store/cut")
    #expect(symlink(place.path("store/key"), place.path("store/link")) == 0)
    #expect(mkfifo(place.path("store/fifo"), 0o600) == 0)
    let cache = try place.cache()
    let report = try run(cache)
    #expect(report.taken == 1 && report.refused == 5 && report.examined == 6)
    #expect(
      reasons(report) == [
        "folder": .notAFile, "100%": .unreadableKey, "cut": .damagedValue, "link": .notAFile, "fifo": .notAFile,
      ])
    #expect(try cache.entries().map(\.key) == ["key"])
  }

  @Test func limitsOfAgeAreExpiries() throws {
    let modified = Date(timeIntervalSince1970: 1_699_999_000)
    let limits: [(String, Double)] = [
      ("short", 999), ("exact", 1_000), ("long", 2_000), ("none", 0), ("negative", -5), ("endless", .infinity),
      ("no number", .nan), ("huge", 1e300),
    ]
    for (key, seconds) in limits {
      let path = try PINCacheWriter.add(key, archive(NSString("x")), to: place)
      guard PINCacheWriter.setAgeLimit(seconds, of: path) else { return }
      try FileManager.default.setAttributes([.modificationDate: modified], ofItemAtPath: path)
    }
    let cache = try place.cache { $0.clock = .manual(ManualClock(date: Date(timeIntervalSince1970: 1_700_000_000))) }
    let report = try run(cache)
    #expect(report.expired == 2 && report.taken == 6)
    let entries = try cache.entries()
    #expect(entries.allSatisfy { $0.lastAccess == modified && $0.created <= modified })
    let expirations = Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.expiration) })
    #expect(expirations["long"] == Date(timeIntervalSince1970: 1_700_001_000))
    for key in ["none", "negative", "no number"] { #expect(expirations[key] == .some(nil), "\(key)") }
    for key in ["endless", "huge"] { #expect(try #require(expirations[key] ?? nil) > Date(timeIntervalSince1970: 9e9)) }
  }
}
