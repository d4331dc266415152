import LMDB
import Logging
import TestSupport
import Testing

@testable import LMDBCaching

/// Some calls throw on a failed read; the others act as if the cache were empty, and log it once.
@Suite struct ReadFailureTests {
  let directory = CacheDirectory()

  @Test func whatCannotBeKnownIsAnError() throws {
    let events = EventLog.Events()
    let cache = try directory.open {
      neverCommitting(&$0)
      $0.logger = EventLog.logger(events)
    }
    try cache.set(1, forKey: "key", cost: 7)
    try cache.flush()
    #expect(try cache.contains("key") && !cache.contains("other"))
    #expect(try cache.count == 1 && cache.totalCost == 7)
    #expect(try cache.contains("key"))
    for round in 1...2 {
      let session = FaultInjection.begin(.directory(directory.path), [.init(.txnRenew, returns: 5, count: .max)])
      #expect(errorCode { try cache.contains("key") } == .storageFailed)
      #expect(errorCode { try cache.count } == .storageFailed)
      #expect(errorCode { try cache.totalCost } == .storageFailed)
      for _ in 0..<3 {
        #expect(!cache.containsObject(forKey: "key"))
      }
      FaultInjection.end(session)
      #expect(cache.containsObject(forKey: "key"))
      let warnings = events.current.filter { $0.message == "cache cannot be read and answers as if it were empty" }
      #expect(warnings.count == round && warnings.allSatisfy { $0.level == .warning })
      #expect(warnings.last?.metadata["directory"] == "\(directory.path)")
    }
    try cache.close()
    #expect(errorCode { try cache.contains("key") } == .closed)
    #expect(errorCode { try cache.count } == .closed)
    #expect(!cache.containsObject(forKey: "key"))
    #expect(events.current.count { $0.level == .warning } == 2, "A closed cache is no failure.")
  }
}
