import Foundation
import LMDBCaching
import TestSupport
import Testing

/// The cache's own record with numbers that no cache writes, and the checksum that belongs to them.
@Suite struct ForgedMetadataTests {
  @Test(arguments: ForgedField.allCases, ForgedField.extremes)
  func aForgedNumberHarmsNothing(_ field: ForgedField, _ value: UInt64) throws {
    let cache = try ForgedCache()
    try cache.forgeMetadata { field.put(value, into: &$0) }
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// What is added up may be wrong together.
  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8] as [UInt64]) func forgedNumbersTogetherHarmNothing(_ seed: UInt64) throws {
    var random = SeededRandom(seed)
    let cache = try ForgedCache()
    try cache.forgeMetadata { record in
      // With the digest they would be found out by what is there.
      for field in ForgedField.withoutDigest {
        field.put(ForgedField.extremes.randomElement(using: &random)!, into: &record)
      }
    }
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// Nobody counts anew what is marked as sound, and one more than this cannot be counted.
  @Test(arguments: [.max, .max - 1, .min, -1] as [Int])
  func aForgedCountOfASoundCacheHarmsNothing(_ count: Int) throws {
    let cache = try ForgedCache()
    try cache.forgeMetadata { ForgedField.count.put(UInt64(bitPattern: Int64(count)), into: &$0) }
    try TestingMark.write(in: cache.directory.path)
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// A record of another length, the checksum of its beginning right.
  @Test(arguments: [0, 1, 8, 15, 16, 95, 97, 100, 400, 5_000])
  func aRecordOfAnyLengthHarmsNothing(_ length: Int) throws {
    let cache = try ForgedCache()
    try ForgedDatabase.rewrite(cache.directory.path, ForgedField.key) { old in
      Array((old! + [UInt8](repeating: 0, count: 5_000)).prefix(length))
    }
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// The cache's other own records: how far a journal was applied.
  @Test(arguments: [
    (8, 0), (8, 1), (8, 7), (8, 8), (8, 9), (8, 100), (0, 8), (1, 8), (7, 8), (9, 8), (500, 8), (500, 0),
  ])
  func anOwnRecordOfAnySizeHarmsNothing(_ size: (key: Int, value: Int)) throws {
    let cache = try ForgedCache()
    for (index, letter) in "jz\u{0}m".utf8.enumerated() {
      let key = [0xFF, letter] + [UInt8](repeating: 0xFF, count: size.key)
      if key == ForgedField.key { continue }
      try ForgedDatabase.rewrite(cache.directory.path, key) { _ in
        [UInt8](repeating: index == 0 ? 0xFF : 0, count: size.value)
      }
    }
    let failures = try cache.use()
    #expect(failures == [])
  }

  /// What is forged is judged by what it is: these trials would show nothing if it were found out at the door.
  @Test func aForgedNumberIsNotFoundOut() throws {
    let cache = try ForgedCache()
    try cache.forgeMetadata { ForgedField.count.put(1_000, into: &$0) }
    try cache.forge(Array("a".utf8)) { _ in ForgedEntryTests.Forged().record("a") }
    let opened = try cache.directory.open()
    #expect(opened.recovery == nil)
    // Counted anew, since somebody wrote past the cache.
    #expect(opened.count == 6)
    #expect(try opened.value(String.self, forKey: "a") == "forged")
    try opened.close()
  }
}
