import Platform
import LMDB
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

/// After a failed meta page write LMDB refuses all use with `MDB_PANIC` (-30795).
@Suite struct ReopeningTests {
  let directory = CacheDirectory()
  static let panic: Int32 = -30795

  /// Makes the next transaction fail.
  private func refuse(_ call: FaultInjection.Call, _ count: Int = 1) -> FaultInjection.SessionID {
    FaultInjection.begin(.directory(directory.path), [.init(call, returns: Self.panic, count: count)])
  }

  @Test func theNextCommitOpensTheFilesAgain() throws {
    let cache = try directory.open(neverCommitting)
    try cache.set("old", forKey: "key")
    try cache.set("old", forKey: "other")
    try cache.flush()
    try cache.set("new", forKey: "key")
    let session = refuse(.txnBegin)
    try cache.flush()
    FaultInjection.end(session)
    #expect(cache.health.isHealthy)
    #expect(cache.statistics.reopenings == 1)
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "key") == "new")
    #expect(try cache.value(String.self, forKey: "other") == "old")
    try cache.close()
    let again = try directory.open()
    #expect(again.recovery == nil)
    #expect(try again.value(String.self, forKey: "key") == "new")
    try again.close()
  }

  @Test func aReadThatIsRefusedHasTheFilesOpenedAgain() throws {
    let cache = try directory.open(neverCommitting)
    try cache.set("old", forKey: "key")
    try cache.flush()
    // Reserves a reader slot for this thread.
    #expect(try cache.withoutMemory.value(String.self, forKey: "key") == "old")
    cache.memory.removeAll()
    // A read tries twice. The writer thread may be refused as well.
    let session = refuse(.txnRenew, 2)
    #expect(errorCode { try cache.value(String.self, forKey: "key") } == .storageFailed)
    #expect(eventually { cache.statistics.reopenings >= 1 })
    FaultInjection.end(session)
    // The second refusal may hit the files reopened after the first.
    #expect(eventually { (try? cache.value(String.self, forKey: "key")) == "old" })
    #expect(eventually { cache.health.isHealthy })
    try cache.close()
  }

  @Test func filesThatCannotBeOpenedAreTriedAgain() throws {
    let clock = ManualClock()
    let cache = try directory.open { $0.clock = .manual(clock) }
    try cache.set("old", forKey: "key")
    try cache.flush()
    let session = FaultInjection.begin(
      .directory(directory.path),
      [.init(.txnBegin, returns: Self.panic), .init(.envOpen, returns: 5, count: .max)])
    try cache.set("new", forKey: "key")
    #expect(errorCode { try cache.flush() } == .notCommitted)
    #expect(!cache.health.isHealthy)
    #expect(try cache.value(String.self, forKey: "key") == "new")
    #expect(try cache.withoutMemory.value(String.self, forKey: "key") == "new")
    FaultInjection.end(session)
    #expect(
      eventually {
        clock.advance(by: .seconds(1))
        return cache.health.isHealthy && !cache.store.journal.hasPending.load(ordering: .acquiring)
      })
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "key") == "new")
    try cache.close()
  }
}
