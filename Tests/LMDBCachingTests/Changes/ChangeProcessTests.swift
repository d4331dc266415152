import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Changes that one process reports about another's writes.
@Suite(.serialized) struct ChangeProcessTests {
  let directory = CacheDirectory()
  let clock = ManualClock(now: Int64(Date().timeIntervalSince1970 * 1e9))

  func open(_ change: (inout CacheConfiguration) -> Void = { _ in }) throws -> LMDBCache {
    try directory.open { configuration in
      neverCommitting(&configuration)
      configuration.clock = .manual(clock)
      change(&configuration)
    }
  }

  func child() throws -> ChildProcess {
    let child = try cacheProcess()
    #expect(child.run("open \(directory.path) interval=1") == "ok")
    return child
  }

  /// Polls for other processes' changes once, and returns what was reported.
  func told(_ changes: CacheChanges, by cache: LMDBCache) throws -> [CacheChange] {
    // Polling pauses in proportion to its own duration, so the clock must not jump meanwhile.
    try cache.settle()
    clock.advance(by: ChangeFeed.interval)
    try cache.settle()
    return changes.taken()
  }

  @Test func eachWriteIsReportedOnce() throws {
    let cache = try open()
    let child = try child()
    #expect(child.run("write a0 theirs") == "ok")
    try cache.set("before", forKey: "a1")
    let changes = cache.changes(withPrefix: "a")
    try cache.set("pending", forKey: "a2")
    try cache.removeValue(forKey: "a0")
    #expect(Set(changes.taken().map(\.key)) == ["a2", "a0"])
    // Earlier commits are not observed.
    try cache.settle()
    for round in 0..<3 {
      // Pending; then committed.
      #expect(child.run("write other \(round)") == "ok")
      #expect(try told(changes, by: cache) == [])
      if round == 0 { try cache.flush() }
    }
    try cache.set("mine", forKey: "a2")
    #expect(changes.taken() == [.set(key: "a2")])
    // This process sees its own pending write.
    #expect(child.run("write a2 theirs") == "ok")
    #expect(try told(changes, by: cache) == [])
    try cache.flush()
    #expect(try told(changes, by: cache) == [] && cache.value(String.self, forKey: "a2") == "mine")
    #expect(child.run("write a2 theirs") == "ok")
    #expect(try told(changes, by: cache) == [.set(key: "a2")])
    #expect(child.run("remove a2") == "ok")
    #expect(child.run("flush") == "ok")
    #expect(try told(changes, by: cache) == [.removed(key: "a2")])
    try cache.removeAll(.prefix("a1"))
    #expect(changes.taken() == [.removedAll(prefix: "a1")])
    try cache.close()
  }

  @Test func changesAsTheObservationBeginsAreMissed() throws {
    let cache = try open()
    let child = try child()
    let isHeld = DispatchSemaphore(value: 0)
    // Blocks the follower until this ends.
    cache.store.enqueueOnWriterThread { isHeld.wait() }
    let changes = cache.changes()
    #expect(child.run("write key theirs") == "ok")
    isHeld.signal()
    try cache.settle()
    #expect(changes.taken() == [.missed])
    #expect(child.run("write key more") == "ok")
    #expect(try told(changes, by: cache) == [.set(key: "key")])
    try cache.close()
  }
}
