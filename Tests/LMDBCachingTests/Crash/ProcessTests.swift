import Platform
import Synchronization
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct ProcessTests {
  let directory = CacheDirectory()

  /// Another process may commit a newer value before the writer thread records its own commit.
  @Test func aPendingWriteGivesWayToWhatWasCommittedAfterIt() throws {
    let cache = try directory.open(neverCommitting)
    let store = cache.store
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path)") == "ok")
    try cache.set("mine", forKey: "key")
    let writer = HeldWriter(store)
    // The state during a commit.
    store.journal.lock.withLock {
      store.journal.sealActive(nil)
      store.journal.state.committingNumber = store.journal.state.sealed.last!.number
    }
    #expect(child.run("write key theirs") == "ok")
    #expect(try cache.value(String.self, forKey: "key") == "mine")
    // Committed before the other process's write, but not recorded yet.
    store.journal.committingPosition.store(store.foreignPosition - 1, ordering: .releasing)
    #expect(try cache.withoutMemory.value(String.self, forKey: "key") == "theirs")
    #expect(child.run("write other theirs") == "ok")
    #expect(try cache.value(String.self, forKey: "key") == "theirs")
    store.journal.committingPosition.store(0, ordering: .releasing)
    writer.release()
    try cache.close()
  }
}
