import Foundation
import LMDB
import TestSupport
import Testing

@testable import LMDBCaching

/// A dead process's journal that cannot be replayed because the disk is full or the journal is unreadable.
@Suite struct UnreplayedTests {
  /// A bad block loses the writes in it, not the cache. The table of faults tries a read that fails once.
  @Test(arguments: [1, 2, 5]) func whatTheDeviceDoesNotGiveIsSetAside(_ first: Int) throws {
    let directory = CacheDirectory()
    let cache = try directory.open(neverCommitting)
    try cache.set("committed", forKey: "committed")
    try cache.flush()
    try cache.set("waits", forKey: "waiting")
    let crashed = directory.crashed(cache)
    try cache.close()
    let session = FaultInjection.begin(
      .directory(crashed.path + "/journals"), [.init(.pread, returns: EIO, first: first, count: .max)])
    defer { FaultInjection.end(session) }
    let reopened = try crashed.open(neverCommitting)
    #expect(try reopened.value(String.self, forKey: "committed") == "committed")
    if first == 1 { #expect(crashed.journals.contains(JournalName.folder + "/damaged")) }
    try reopened.set("new", forKey: "new")
    try reopened.close()
    let again = try crashed.open(neverCommitting)
    #expect(try again.value(String.self, forKey: "new") == "new")
    try again.close()
  }

  @Test func whatIsOlderIsNotServed() throws {
    let directory = CacheDirectory()
    let cache = try directory.open(neverCommitting)
    for key in ["replaced", "removed", "prefix/1", "prefix/2", "untouched"] { try cache.set("old", forKey: key) }
    for key in ["tagged", "tagged too"] { try cache.set("old", forKey: key, tags: ["tag"]) }
    try cache.flush()
    try cache.set("new", forKey: "replaced")
    try cache.removeAll(.tag("tag"))
    try cache.set("again", forKey: "tagged too", tags: ["tag"])
    try cache.removeValue(forKey: "removed")
    try cache.removeAll(.prefix("prefix/"))
    try cache.set("again", forKey: "prefix/2")
    let crashed = directory.crashed(cache)
    try cache.close()

    let clock = ManualClock()
    let session = FaultInjection.begin(
      .directory(crashed.path), [.init(.txnCommit, returns: ENOSPC, count: .max)])
    let reopened = try crashed.open { $0.clock = .manual(clock) }
    var expected = ["replaced": "new", "prefix/2": "again", "tagged too": "again", "untouched": "old"]
    func expect() throws {
      for key in ["replaced", "removed", "prefix/1", "prefix/2", "tagged", "tagged too", "untouched"] {
        #expect(try reopened.value(String.self, forKey: key) == expected[key])
        #expect(try reopened.contains(key) == (expected[key] != nil))
      }
    }
    try expect()
    reopened.memory.removeAll()
    try expect()
    #expect(errorCode { try reopened.entries() } == .notCommitted)
    // The new value written meanwhile stays.
    try reopened.set("newer", forKey: "prefix/1")
    expected["prefix/1"] = "newer"
    FaultInjection.end(session)
    // The next round removes the tagged entry.
    let isCommitted = eventually {
      clock.advance(by: .seconds(2))
      return reopened.health.isHealthy && (try? reopened.count) == 5
    }
    reopened.memory.removeAll()
    try expect()
    #expect(isCommitted)
    #expect(try reopened.entries().map(\.key) == expected.keys.sorted())
    try reopened.close()
  }
}
