import TestSupport
import Testing

@testable import LMDBCaching

/// Marks that prefix removals leave for loads of other processes.
@Suite struct RemovalMarksTests {
  let directory = CacheDirectory()

  private func mark(_ cache: LMDBCache) throws -> UInt64 { try cache.store.database.removalMarks().prefixes.last }

  /// Includes a removal that matches nothing, and a forged mark of the earlier ones.
  @Test(arguments: [nil, 0, 1, 7, 8, 9, 100] as [Int?]) func everyRemovalByPrefixLeavesAnother(_ size: Int?) throws {
    try directory.open().close()
    if let size {
      try ForgedDatabase.rewrite(directory.path, PrefixRemovals.key) { _ in [UInt8](repeating: 0xFF, count: size) }
    }
    var cache = try directory.open(neverCommitting)
    var last = try mark(cache)
    #expect(last == 0)
    for round in 0..<4 {
      if round % 2 == 0 {
        try cache.removeAll(.prefix("none:"))
      } else {
        try cache.write { $0.removeAll(.prefix("none:")) }
      }
      try cache.flush()
      let current = try mark(cache)
      #expect(current > last)
      last = current
    }
    // Nothing else changes or removes it.
    try cache.set("v", forKey: "other")
    try cache.removeAll(.tag("tag"))
    try cache.removeAll()
    try cache.flush()
    #expect(try mark(cache) == last)
    #expect(try cache.store.database.removalMarks().clear != 0)
    try cache.close()
    cache = try directory.open()
    #expect(try mark(cache) == last)
    try cache.close()
  }

  @Test func theLatestPrefixesAreKnown() throws {
    var removals = PrefixRemovals()
    let long = String(repeating: "x", count: 60)
    func includes(_ key: String, since mark: UInt64) -> Bool {
      let stored = removals.stored.withBytes { PrefixRemovals($0) }
      #expect(stored.last == removals.last)
      return CacheKey.with(key) { stored.includes($0.utf8, since: mark) }
    }
    removals.note([Array("a:".utf8), Array(long.utf8)], stamp: 10)
    #expect(removals.last == 10)
    #expect(includes("a:1", since: 9) && includes(long, since: 9) && !includes("a", since: 9))
    #expect(!includes("a:1", since: 10))
    // One transaction may remove more than are kept.
    var many = PrefixRemovals()
    many.note((0..<40).map { Array("n\($0):".utf8) }, stamp: 10)
    let stored = many.stored.withBytes { PrefixRemovals($0) }
    #expect(stored.last == 10 && CacheKey.with("n39:x") { stored.includes($0.utf8, since: 9) })
    // A shorter prefix covers longer ones.
    for stamp in 11...100 { removals.note([Array("a:\(stamp)".utf8), Array("a".utf8)], stamp: 5) }
    #expect(removals.last == 100 && removals.stored.count < 200)
    #expect(includes("a:1", since: 99) && !includes("b", since: 9))
    // When the marks overflow, every key counts as removed.
    for number in 0..<40 { removals.note([Array("n\(number)".utf8)], stamp: 0) }
    #expect(includes("b", since: 100) && !includes("b", since: 130) && includes("n39", since: 130))
  }
}
