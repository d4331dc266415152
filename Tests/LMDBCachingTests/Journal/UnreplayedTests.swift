import Platform
import Foundation
import LMDB
import TestSupport
import Testing

@testable import LMDBCaching

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// A dead process's journal that cannot be applied when the cache is opened, since the disk is full.
@Suite struct UnreplayedTests {
  @Test(arguments: [ENOSPC, EIO]) func whatIsOlderIsNotServed(_ status: Int32) throws {
    let directory = CacheDirectory()
    let cache = try directory.open(neverCommitting)
    for key in ["replaced", "removed", "prefix/1", "prefix/2", "untouched"] { try cache.set("old", forKey: key) }
    for key in ["tagged", "tagged too"] { try cache.set("old", forKey: key, tags: ["tag"]) }
    try cache.flush()
    try cache.set("new", forKey: "replaced")
    try cache.removeAll(taggedWith: "tag")
    try cache.set("again", forKey: "tagged too", tags: ["tag"])
    try cache.removeValue(forKey: "removed")
    try cache.removeAll(withPrefix: "prefix/")
    try cache.set("again", forKey: "prefix/2")
    let crashed = directory.crashed(cache)
    try cache.close()

    let clock = ManualClock()
    let session = FaultInjection.begin(
      .directory(crashed.path), [.init(.txnCommit, returns: status, count: .max)])
    let reopened = try crashed.open { $0.clock = .manual(clock) }
    for key in ["replaced", "removed", "prefix/1", "prefix/2", "tagged", "tagged too"] {
      #expect(try reopened.value(String.self, forKey: key) == nil)
      #expect(!reopened.contains(key))
    }
    #expect(try reopened.value(String.self, forKey: "untouched") == "old")
    #expect(try reopened.entries().map(\.key) == ["untouched"])
    // It is written anew meanwhile, and that stays.
    try reopened.set("newer", forKey: "prefix/1")
    #expect(try reopened.value(String.self, forKey: "prefix/1") == "newer")
    FaultInjection.end(session)
    let expected = [
      "replaced": "new", "prefix/1": "newer", "prefix/2": "again", "tagged too": "again", "untouched": "old",
    ]
    #expect(
      try eventually {
        clock.advance(by: .seconds(2))
        return try expected.allSatisfy { try reopened.value(String.self, forKey: $0.key) == $0.value }
      })
    #expect(try reopened.value(String.self, forKey: "removed") == nil)
    #expect(reopened.health.isHealthy)
    #expect(try eventually { try reopened.entryCount() == 5 })
    #expect(try reopened.entries().map(\.key) == expected.keys.sorted())
    try reopened.close()
  }
}
