import Foundation
import Synchronization
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

/// Failures that the table does not reach: full journals and maps, two failures at once, and their messages.
@Suite struct PinnedFaultTests {
  let directory = CacheDirectory()

  private func open(
    _ clock: ManualClock, memoryLimit: Int = .max, journalSize: Int = 64 << 10
  ) throws -> LMDBCache {
    try directory.open {
      $0.clock = .manual(clock)
      $0.disk.journalSize = journalSize
      $0.disk.inlineThreshold = 1 << 20
      $0.memory.countLimit = memoryLimit
    }
  }

  /// Makes every call of a function on the directory fail until the session ends.
  func fail(_ call: FaultInjection.Call, _ status: Int32) -> FaultInjection.SessionID {
    FaultInjection.begin(.directory(directory.path), [.init(call, returns: status, count: .max)])
  }

  /// Returns whether everything is committed once the retry pauses are over.
  func recovers(_ cache: LMDBCache, _ clock: ManualClock) -> Bool {
    eventually {
      clock.advance(by: .seconds(1))
      return cache.health.isHealthy && !cache.store.journal.hasPending.load(ordering: .acquiring)
    }
  }

  /// Sets values until one throws; returns the number of those that did not.
  func fill(_ cache: LMDBCache, _ prefix: String) -> Int {
    let value = String(repeating: "x", count: 3_000)
    for index in 0..<10_000 {
      if errorCode({ try cache.set(value, forKey: "\(prefix)\(index)") }) != nil { return index }
    }
    Issue.record("the journal has no end")
    return 0
  }

  @Test(arguments: [Int.max, 0]) func aFullJournalThrowsAndChangesNothing(_ memoryLimit: Int) throws {
    let clock = ManualClock()
    let cache = try open(clock, memoryLimit: memoryLimit)
    let session = fail(.txnCommit, ENOSPC)
    for key in ["key", "removed"] { try cache.set("in the journal", forKey: key) }
    try cache.removeValue(forKey: "removed")
    let count = fill(cache, "fill")
    #expect(count > 10)
    let long = String(repeating: "n", count: 20_000)
    #expect(errorCode { try cache.set(long, forKey: "key") } == .noSpace)
    #expect(errorCode { try cache.write { $0.set(long, forKey: "key") } } == .noSpace)
    if case .memoryOnly = cache.health {} else { Issue.record("\(cache.health)") }
    func expect(_ cache: LMDBCache) throws {
      #expect(try cache.values(String.self, forKeys: ["key", "removed"]) == ["in the journal", nil])
      for index in 0..<count { #expect(try cache.contains("fill\(index)")) }
      #expect(try !cache.contains("fill\(count)"))
    }
    try expect(cache)
    cache.memory.removeAll()
    try expect(cache)
    FaultInjection.end(session)
    clock.advance(by: .seconds(40))
    #expect(recovers(cache, clock))
    try expect(cache)
    try cache.close()
    let reopened = try directory.open()
    try expect(reopened)
    try reopened.close()
  }

  @Test func withAFullJournalRemovingAllRemovesAll() throws {
    let clock = ManualClock()
    let cache = try open(clock)
    try cache.set("old", forKey: "committed")
    try cache.flush()
    let session = fail(.txnCommit, ENOSPC)
    // Until not even a removal's frame fits.
    _ = fill(cache, "fill")
    while errorCode({ try cache.set(1, forKey: "f") }) == nil {}
    _ = errorCode { try cache.removeAll() }
    for key in ["committed", "fill0", "f"] { #expect(try !cache.contains(key)) }
    FaultInjection.end(session)
    clock.advance(by: .seconds(40))
    #expect(recovers(cache, clock))
    #expect(try cache.entries().isEmpty)
    #expect(try cache.count == 0)
    try cache.close()
  }

  /// Without a journal, writes wait in memory.
  @Test(arguments: [Int.max, 0]) func memoryIsBounded(_ memoryLimit: Int) throws {
    let clock = ManualClock()
    let cache = try open(clock, memoryLimit: memoryLimit, journalSize: 16 << 20)
    let sessions = [
      fail(.txnCommit, ENOSPC),
      FaultInjection.begin(
        .directory(directory.path + "/journals"), [.init(.pwrite, returns: ENOSPC, count: .max)]),
    ]
    try cache.set("new", forKey: "key")
    let count = fill(cache, "fill")
    #expect(1_000...1_400 ~= count)
    func expect(_ cache: LMDBCache) throws {
      #expect(try cache.value(String.self, forKey: "key") == "new")
      for index in 0..<count { #expect(try cache.contains("fill\(index)")) }
      #expect(try !cache.contains("fill\(count)"))
    }
    #expect(errorCode { try cache.set(Data(count: 3_000), forKey: "key") } == .noSpace)
    try expect(cache)
    cache._checkInvariants()
    for session in sessions { FaultInjection.end(session) }
    #expect(recovers(cache, clock))
    try cache.close()
    let again = try directory.open()
    try expect(again)
    try again.close()
  }

  // MARK: Full maps

  static func text(_ index: Int) -> String { String(repeating: "m", count: 2_000) + String(index) }

  @Test func aBatchLargerThanTheMapGrowsIt() throws {
    let cache = try directory.open {
      $0.disk.mapSize = 1 << 20; $0.disk.inlineThreshold = 1 << 30
    }
    try cache.write { batch in
      for index in 0..<3_000 { batch.set(Self.text(index), forKey: "key\(index)") }
    }
    let large = Data(repeating: 1, count: 20 << 20)
    try cache.set(large, forKey: "large")
    cache.memory.removeAll()
    #expect(try cache.value(Data.self, forKey: "large") == large)
    #expect(try cache.count == 3_001)
    try cache.close()
  }

  @Test func aMapThatCannotGrowEvicts() throws {
    let cache = try directory.open { configuration in
      configuration.disk.mapSize = 4 << 20
      configuration.disk.journalSize = 256 << 10
      configuration.disk.groupCommitInterval = .milliseconds(1)
    }
    let session = FaultInjection.begin(
      .directory(directory.path), [.init(.envGetDescriptor, returns: ENOMEM, count: .max)])
    defer { FaultInjection.end(session) }
    let isDone = finishes(within: 60) {
      for index in 0..<4_000 {
        do { try cache.set(Self.text(index), forKey: "key\(index)") } catch { Issue.record(error) }
        if index % 100 == 0 { _ = try? cache.flush() }
      }
    }
    #expect(isDone)
    #expect(eventually { (try? cache.flush()) != nil && cache.health.isHealthy })
    // Recent entries remain; evicted ones are absent, not mixed up.
    cache.memory.removeAll()
    for index in 0..<4_000 {
      let value = try cache.value(String.self, forKey: "key\(index)")
      #expect(value == nil || value == Self.text(index))
    }
    try cache.set("last", forKey: "key")
    try cache.flush()
    #expect(try cache.value(String.self, forKey: "key") == "last")
    #expect(cache.statistics.diskEvictions > 0)
    #expect(try cache.entries().count == cache.count)
    try cache.close()
  }

  // MARK: Files that LMDB gave up on

  @Test func filesThatCannotBeOpenedAreTriedAgain() throws {
    let clock = ManualClock()
    let cache = try directory.open { $0.clock = .manual(clock) }
    try cache.set("old", forKey: "key")
    try cache.flush()
    let session = FaultInjection.begin(
      .directory(directory.path),
      [.init(.txnBegin, returns: -30795), .init(.envOpen, returns: 5, count: .max)])
    try cache.set("new", forKey: "key")
    #expect(errorCode { try cache.flush() } == .notCommitted)
    #expect(!cache.health.isHealthy)
    #expect(try cache.value(String.self, forKey: "key") == "new")
    #expect(try cache.withoutMemory.value(String.self, forKey: "key") == "new")
    FaultInjection.end(session)
    #expect(recovers(cache, clock))
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "key") == "new")
    try cache.close()
  }

  // MARK: Reports

  @Test func whatLMDBSaysIsSaidOnce() {
    let error = CacheError(
      LMDBError(code: .lockTimeout, operation: "mdb_txn_begin", message: "Continue it."), during: "Committing")
    #expect("\(error)" == "lockTimeout: Committing failed: Continue it. (mdb_txn_begin [lockTimeout])")
  }

  @Test func aSmallCacheTakesKilobytesAndNamesTheRoomItNeeds() throws {
    let cache = try directory.open()
    let session = FaultInjection.begin(
      .directory(directory.path + "/journals"), [.init(.pwrite, returns: ENOSPC, count: .max)])
    try cache.set("x", forKey: "key")
    guard case .memoryOnly(let error) = cache.health else { throw CacheError(.storageFailed, "\(cache.health)") }
    for part in ["266240 bytes", "journalSize", "bytes are free"] {
      #expect(error.code == .noSpace && error.message.contains(part), "\(error)")
    }
    FaultInjection.end(session)
    try cache.flush()
    #expect(try cache.disk.size < 1 << 20)
    try cache.close()
  }
}
