import TestSupport
import Testing

@testable import LMDBCaching

/// What removals by prefix leave for loads of other processes.
@Suite struct RemovalMarksTests {
  let directory = CacheDirectory()

  private func mark(_ cache: LMDBCache) throws -> UInt64 { try cache.store.database.removalMarks().prefix }

  /// Also one that finds nothing.
  @Test func everyRemovalByPrefixLeavesAnother() throws {
    var cache = try directory.open(neverCommitting)
    try cache.set("v", forKey: "key")
    try cache.flush()
    #expect(try mark(cache) == 0)
    var last: UInt64 = 0
    for round in 0..<4 {
      if round % 2 == 0 {
        try cache.removeAll(withPrefix: "none:")
      } else {
        try cache.write { $0.removeAll(withPrefix: "none:") }
      }
      try cache.flush()
      let current = try mark(cache)
      #expect(current > last)
      last = current
    }
    // Nothing else changes it, nor takes it away.
    try cache.set("v", forKey: "other")
    try cache.removeValue(forKey: "other")
    try cache.removeAll(taggedWith: "tag")
    try cache.flush()
    try cache.diskCache.trim(toCount: 0)
    #expect(cache.count == 0)
    #expect(try mark(cache) == last)
    try cache.removeAll()
    try cache.flush()
    #expect(try mark(cache) == last)
    #expect(try cache.store.database.removalMarks().clear != 0)
    try cache.close()
    cache = try directory.open()
    #expect(try mark(cache) == last)
    try cache.close()
  }

  /// A record that no cache has written.
  @Test(arguments: [0, 1, 7, 8, 9, 100]) func aForgedMarkHarmsNothing(_ size: Int) throws {
    try directory.open().close()
    try ForgedDatabase.rewrite(directory.path, RemovalMarks.prefixKey) { _ in [UInt8](repeating: 0xFF, count: size) }
    let cache = try directory.open()
    let forged = try mark(cache)
    #expect(forged == (size == 8 ? UInt64.max : 0))
    try cache.removeAll(withPrefix: "none:")
    try cache.flush()
    #expect(try mark(cache) != forged)
    try cache.close()
  }
}
