import Platform
import Foundation
import LMDB
import TestSupport
import Testing

@testable import LMDBCaching

@Suite struct MaintenanceTests {
  let directory = CacheDirectory()

  @Test func itDoesNotWaitForWritesThatItKeepsFromBeingCommitted() throws {
    let clock = ManualClock()
    let cache = try directory.open {
      neverCommitting(&$0); $0.clock = .manual(clock); $0.disk.inlineThreshold = 100
    }
    try cache.set("v", forKey: "key")
    try cache.set(String(repeating: "b", count: 500), forKey: "file")
    // The cache's clock is far ahead, so only the journal's record protects the file.
    clock.set(Int64(Date().timeIntervalSince1970 * 1e9) + 86_400_000_000_000)
    cache.store.enqueueMaintenance()
    // Waits for earlier jobs.
    #expect(finishes { _ = try? cache.store.onWriterThread { .success(()) } })
    #expect(finishes { _ = try? cache.flush() })
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "file")?.count == 500)
    #expect(finishes { _ = try? cache.close() })
  }

  @Test func itKeepsTheValuesOfWritesWhoseCommitsFail() throws {
    let clock = ManualClock(now: Int64(Date().timeIntervalSince1970 * 1e9))
    let cache = try directory.open {
      $0.clock = .manual(clock); $0.disk.inlineThreshold = 100
    }
    try cache.set("v", forKey: "key")
    try cache.flush()
    let big = String(repeating: "b", count: 500)
    let session = FaultInjection.begin(
      .directory(directory.path), [.init(.txnCommit, returns: 5, count: .max)])
    try cache.set(big, forKey: "file")
    #expect(errorCode { try cache.flush() } == .notCommitted)
    clock.set(clock.now + 3_600_000_000_000)
    #expect(finishes { _ = try? cache.sweepValues() })
    FaultInjection.end(session)
    clock.advance(by: .seconds(40))
    #expect(eventually { (try? cache.flush()) != nil })
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "file") == big)
    try cache.close()
  }
}
