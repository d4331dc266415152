import TestSupport
import Testing

@testable import LMDBCaching

/// Marks that prefix removals leave for loads of other processes. ``LoadProcessTests`` tries them whole.
@Suite struct RemovalMarksTests {
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
