import Platform
import Foundation
import LMDB
import Synchronization
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

@Suite struct CommitFailureTests {
  let directory = CacheDirectory()

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

  @Test func whatLMDBSaysIsSaidOnce() {
    let error = CacheError(
      LMDBError(code: .lockTimeout, operation: "mdb_txn_begin", message: "Continue it."), during: "Committing")
    #expect("\(error)" == "lockTimeout: Committing failed: Continue it. (mdb_txn_begin [lockTimeout])")
    let other = CacheError(
      .notCommitted, "Not committed.",
      underlying: LMDBError(code: .ioError, operation: "mdb_txn_commit", message: "Bad."))
    #expect("\(other)" == "notCommitted: Not committed. (mdb_txn_commit: Bad. [ioError])")
  }

  static let faults: [(FaultInjection.Call, Int32)] = [
    (.txnCommit, ENOSPC), (.txnCommit, EIO), (.txnBegin, EIO), (.cursorPut, ENOSPC), (.cursorPut, EIO),
    (.txnBegin, ENOMEM),
  ]

  @Test(arguments: faults, [Int.max, 0]) func valuesStayReadableAndAreCommittedLater(
    _ fault: (FaultInjection.Call, Int32), _ memoryLimit: Int
  ) throws {
    let clock = ManualClock()
    let cache = try directory.open {
      $0.clock = .manual(clock); $0.memory.countLimit = memoryLimit
    }
    try cache.set("old", forKey: "key")
    try cache.set("old", forKey: "gone")
    try cache.flush()
    let session = fail(fault.0, fault.1)
    try cache.set("new", forKey: "key")
    try cache.set("other", forKey: "other")
    try cache.removeValue(forKey: "gone")
    #expect(errorCode { try cache.flush() } == .notCommitted)
    guard case .memoryOnly(let error) = cache.health else {
      Issue.record("\(cache.health)")
      return
    }
    #expect(error.code == (fault.1 == ENOSPC ? .noSpace : .storageFailed))
    for _ in 0..<2 {
      #expect(try cache.value(String.self, forKey: "key") == "new")
      #expect(try cache.value(String.self, forKey: "other") == "other")
      #expect(try cache.value(String.self, forKey: "gone") == nil)
      #expect(try !cache.contains("gone"))
      cache.memory.removeAll()
    }
    try cache.set("newest", forKey: "key")
    #expect(try cache.value(String.self, forKey: "key") == "newest")
    FaultInjection.end(session)
    clock.advance(by: .seconds(40))
    #expect(eventually { (try? cache.flush()) != nil })
    #expect(cache.health.isHealthy)
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "key") == "newest")
    #expect(try cache.entries().map(\.key) == ["key", "other"])
    #expect(cache.statistics.failedCommits > 0)
    try cache.close()
  }

  @Test func aFailedCommitLosesNothingWhenTheProcessEnds() throws {
    let cache = try directory.open(neverCommitting)
    try cache.set("v", forKey: "key")
    let session = fail(.txnCommit, ENOSPC)
    #expect(errorCode { try cache.close() } == .notCommitted)
    FaultInjection.end(session)
    #expect(directory.journals.count == 1)
    let reopened = try directory.open()
    #expect(try reopened.value(String.self, forKey: "key") == "v")
    try reopened.close()
    #expect(directory.journals.isEmpty)
  }

  @Test(arguments: [false, true]) func aWriteThatIsNotCommittedYetIsTheOneThatIsRead(_ large: Bool) throws {
    let clock = ManualClock()
    func open() throws -> LMDBCache {
      try directory.open { configuration in
        configuration.clock = .manual(clock)
        configuration.durability = .full
        configuration.disk.journalSize = 64 << 10
      }
    }
    let (first, second) = (try open(), try open())
    let filler = String(repeating: "f", count: large ? 200_000 : 10)
    try first.set("old" + filler, forKey: "key")
    try first.setObject(NSString(string: "old"), forKey: "object")
    try first.set("old", forKey: "removed")
    for key in ["key", "removed"] { _ = try second.value(String.self, forKey: key) }
    let session = fail(.txnCommit, EIO)
    // The error means: accepted, and visible in this process only.
    #expect(errorCode { try first.set("new" + filler, forKey: "key") } == .notCommitted)
    #expect(errorCode { try first.setObject(NSString(string: "new"), forKey: "object") } == .notCommitted)
    #expect(errorCode { try first.removeValue(forKey: "removed") } == .notCommitted)
    for cache in [first, second] {
      #expect(try cache.value(String.self, forKey: "key") == "new" + filler)
      #expect(try cache.object(forKey: "object") as? NSString == "new")
      #expect(try cache.value(String.self, forKey: "removed") == nil)
    }
    #expect(errorCode { try first.removeAll() } == .notCommitted)
    for cache in [first, second] { #expect(try cache.value(String.self, forKey: "key") == nil) }
    FaultInjection.end(session)
    clock.advance(by: .seconds(40))
    #expect(eventually { (try? first.flush()) != nil })
    #expect(try first.count == 0)
    try first.close()
    try second.close()
  }

  @Test(arguments: [false, true]) func aBatchThatIsNotCommittedYetIsTheOneThatIsRead(_ large: Bool) throws {
    let clock = ManualClock()
    let cache = try directory.open {
      $0.clock = .manual(clock); $0.disk.journalSize = 64 << 10
    }
    let filler = String(repeating: "f", count: large ? 200_000 : 10)
    try cache.set("old", forKey: "a")
    try cache.set("old", forKey: "b")
    try cache.flush()
    let session = fail(.txnCommit, EIO)
    let code = errorCode {
      try cache.write(waitsForCommit: true) { batch in
        batch.set("new" + filler, forKey: "a")
        batch.removeValue(forKey: "b")
      }
    }
    #expect(code == .notCommitted)
    #expect(try cache.value(String.self, forKey: "a") == "new" + filler)
    #expect(try cache.value(String.self, forKey: "b") == nil)
    FaultInjection.end(session)
    clock.advance(by: .seconds(40))
    #expect(eventually { (try? cache.flush()) != nil })
    #expect(try cache.entries().map(\.key) == ["a"])
    try cache.close()
  }

  /// Fills the journal while commits fail; returns the keys that were in it before.
  func fill(_ cache: LMDBCache) throws {
    for index in 0..<40 { try cache.set(String(repeating: "x", count: 3_000), forKey: "fill\(index)") }
  }

  @Test(arguments: [Int.max, 0]) func withAFullJournalNoOlderValueIsServed(_ memoryLimit: Int) throws {
    let clock = ManualClock()
    let cache = try directory.open {
      $0.clock = .manual(clock)
      $0.disk.journalSize = 64 << 10
      $0.disk.inlineThreshold = 1 << 20
      $0.memory.countLimit = memoryLimit
    }
    let session = fail(.txnCommit, ENOSPC)
    for key in ["set", "removed", "shrunk"] { try cache.set("in the journal", forKey: key) }
    try fill(cache)
    // Too long for the rest of the journal.
    let long = String(repeating: "n", count: 20_000)
    try cache.set(long, forKey: "set")
    try cache.set(long, forKey: "removed")
    try cache.removeValue(forKey: "removed")
    try cache.set(long, forKey: "shrunk")
    try cache.set("short again", forKey: "shrunk")
    if case .memoryOnly = cache.health {} else { Issue.record("\(cache.health)") }

    for _ in 0..<2 {
      let set = try cache.value(String.self, forKey: "set")
      #expect(set == nil || set == long, "an older value came back")
      #expect(try cache.value(String.self, forKey: "removed") == nil)
      let shrunk = try cache.value(String.self, forKey: "shrunk")
      #expect(shrunk == nil || shrunk == "short again")
      if memoryLimit > 0 { break }
    }
    FaultInjection.end(session)
    clock.advance(by: .seconds(40))
    #expect(recovers(cache, clock))
    cache.memory.removeAll()
    let set = try cache.value(String.self, forKey: "set")
    #expect(set == nil || set == long, "an older value came back")
    #expect(try cache.value(String.self, forKey: "removed") == nil)
    let shrunk = try cache.value(String.self, forKey: "shrunk")
    #expect(shrunk == nil || shrunk == "short again")
    try cache.set("after", forKey: "set")
    #expect(errorCode { try cache.flush() } == .noSpace)
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "set") == "after")
    try cache.close()
    let reopened = try directory.open()
    #expect(try reopened.value(String.self, forKey: "removed") == nil)
    #expect(try reopened.value(String.self, forKey: "set") == "after")
    try reopened.close()
  }

  @Test func withAFullJournalRemovingAllRemovesAll() throws {
    let clock = ManualClock()
    let cache = try directory.open {
      $0.clock = .manual(clock); $0.disk.journalSize = 64 << 10; $0.disk.inlineThreshold = 1 << 20
    }
    try cache.set("old", forKey: "committed")
    try cache.flush()
    let session = fail(.txnCommit, ENOSPC)
    try cache.set("old", forKey: "pending")
    // Until not even a removal's frame fits.
    for index in 0..<30 { try cache.set(String(repeating: "x", count: 3_000), forKey: "fill\(index)") }
    for index in 0..<3_000 { try cache.set(index, forKey: "f\(index)") }
    _ = errorCode { try cache.removeAll() }
    for key in ["committed", "pending", "fill0", "f7"] {
      #expect(try cache.value(String.self, forKey: key) == nil)
    }
    FaultInjection.end(session)
    clock.advance(by: .seconds(40))
    #expect(recovers(cache, clock))
    #expect(try cache.entries().isEmpty)
    #expect(try cache.count == 0)
    _ = errorCode { try cache.close() }
  }

  @Test func aDiskCacheReportsWhatCannotBeRecorded() throws {
    let clock = ManualClock()
    let cache = try directory.openDisk {
      $0.clock = .manual(clock); $0.disk.journalSize = 64 << 10; $0.disk.inlineThreshold = 1 << 20
    }
    let session = fail(.txnCommit, ENOSPC)
    var code: CacheError.Code?
    for index in 0..<60 where code == nil {
      code = errorCode { try cache.set(String(repeating: "x", count: 3_000), forKey: "fill\(index)") }
    }
    #expect(code == .noSpace)
    FaultInjection.end(session)
    _ = errorCode { try cache.close() }
  }

  @Test func aValueThatCannotBeWrittenStaysInMemory() throws {
    let clock = ManualClock()
    let cache = try directory.open {
      $0.clock = .manual(clock)
      $0.disk.inlineThreshold = 100
    }
    try cache.set("old", forKey: "key")
    try cache.flush()
    // A file at the folder's path: no segment can be made.
    directory.write(Data(), to: ValueFolder.name)
    let big = String(repeating: "b", count: 500)
    try cache.set(big, forKey: "key")
    #expect(try cache.value(String.self, forKey: "key") == big)
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "key") == nil)
    #expect(!cache.health.isHealthy)
    #expect(recovers(cache, clock))
    #expect(try cache.value(String.self, forKey: "key") == nil)
    #expect(errorCode { try cache.withoutMemory.set(big, forKey: "key") } == .storageFailed)
    #expect(errorCode { try cache.write(waitsForCommit: true) { $0.set(big, forKey: "key") } } == .storageFailed)
    try cache.set("small", forKey: "key")
    #expect(cache.health.isHealthy)
    // Lost writes are reported once.
    #expect(errorCode { try cache.flush() } == .storageFailed)
    try cache.flush()
    try cache.close()
  }

  @Test(arguments: [false, true]) func whatIsInMemoryOnlyIsToldOf(_ isFlushed: Bool) throws {
    let clock = ManualClock()
    let cache = try directory.open {
      $0.clock = .manual(clock)
      $0.disk.inlineThreshold = 100
    }
    // The pause is over: the next commit is tried at once, and succeeds.
    directory.write(Data(), to: ValueFolder.name)
    let big = String(repeating: "b", count: 500)
    try cache.set(big, forKey: "a")
    clock.advance(by: .seconds(40))
    try cache.set(big, forKey: "b")
    #expect(eventually { !cache.store.journal.hasPending.load(ordering: .acquiring) })
    if case .memoryOnly(let error) = cache.health { #expect(error.code == .storageFailed) } else { Issue.record() }
    try FileManager.default.removeItem(at: directory.url(ValueFolder.name))
    if isFlushed {
      #expect(errorCode { try cache.flush() } == .storageFailed)
    } else {
      try cache.set(big, forKey: "c")
    }
    #expect(cache.health.isHealthy)
    // Reported once.
    #expect(errorCode { try cache.close() } == (isFlushed ? nil : .storageFailed))
    try cache.close()
  }

  /// The value that a memory-only write replaced stays on disk until the next commit; a crash before it would bring the
  /// old value back.
  @Test func aFlushWaitsUntilWhatWasReplacedIsGone() throws {
    let clock = ManualClock()
    let cache = try directory.open {
      $0.clock = .manual(clock)
      $0.disk.inlineThreshold = 100
    }
    try cache.set("old", forKey: "key")
    try cache.flush()
    directory.write(Data(), to: ValueFolder.name)
    try cache.set(String(repeating: "b", count: 500), forKey: "key")
    #expect(errorCode { try cache.flush() } == .notCommitted)
    try FileManager.default.removeItem(at: directory.url(ValueFolder.name))
    clock.advance(by: .seconds(40))
    #expect(recovers(cache, clock))
    #expect(try CacheKey.with("key") { (key) throws(CacheError) in try cache.store.database.header(key) == nil })
    #expect(errorCode { try cache.close() } == .storageFailed)
  }

  /// Here the failure ended before the write noted that it is in memory only.
  @Test func aFlushWaitsForWhatIsHiddenWithoutAFailure() throws {
    let cache = try directory.open(neverCommitting)
    try cache.set("old", forKey: "key")
    try cache.flush()
    let journal = cache.store.journal
    journal.lock.withLock {
      var hidden = HiddenKeys()
      Array("key".utf8).withUnsafeBytes { hidden.insert(.key($0), stamp: journal.state.stamps.next(cache.store.clock)) }
      journal.hide(hidden)
    }
    #expect(try cache.value(String.self, forKey: "key") == nil || cache.memory.contains("key"))
    try cache.flush()
    #expect(try CacheKey.with("key") { (key) throws(CacheError) in try cache.store.database.header(key) == nil })
    try cache.close()
  }

  @Test func whatIsNewerThanWhatCouldNotBeRecordedIsRead() throws {
    let cache = try directory.open(neverCommitting)
    let journal = cache.store.journal
    let stamp = journal.lock.withLock { journal.state.stamps.next(cache.store.clock) }
    try cache.set("newer", forKey: "key")
    try cache.flush()
    journal.lock.withLock {
      var hidden = HiddenKeys()
      Array("key".utf8).withUnsafeBytes { hidden.insert(.key($0), stamp: stamp) }
      journal.hide(hidden)
    }
    cache.memory.removeAll()
    #expect(try cache.contains("key"))
    #expect(try cache.value(String.self, forKey: "key") == "newer")
    cache.memory.removeAll()
    #expect(try cache.values(String.self, forKeys: ["key"]) == ["newer"])
    #expect(try cache.withoutMemory.value(String.self, forKey: "key") == "newer")
    #expect(try !cache.set("other", forKey: "key", if: .absent))
    try cache.flush()
    #expect(try cache.value(String.self, forKey: "key") == "newer")
    try cache.close()
  }

  @Test func withFullDurabilityAWriteThatCannotBeRecordedChangesNothing() throws {
    let clock = ManualClock()
    func open() throws -> LMDBCache {
      try directory.open {
        $0.durability = .full
        $0.disk.inlineThreshold = 1_000
        $0.clock = .manual(clock)
      }
    }
    var cache = try open()
    let (short, long) = (Data("old".utf8), Data(repeating: 1, count: 5_000))
    try cache.set(short, forKey: "short")
    try cache.set(long, forKey: "long")
    try cache.close()
    cache = try open()
    #expect(try cache.value(Data.self, forKey: "long") == long)
    let session = fail(.openat, ENOSPC)
    #expect(errorCode { try cache.set(Data("new".utf8), forKey: "short") } == .noSpace)
    #expect(errorCode { try cache.set(Data(count: 6_000), forKey: "long") } == .noSpace)
    #expect(errorCode { try cache.removeValue(forKey: "short") } == .noSpace)
    #expect(errorCode { try cache.removeAll(.prefix("s")) } == .noSpace)
    #expect(errorCode { try cache.set(1, forKey: "absent", if: .absent) } == .noSpace)
    for _ in 0..<2 {
      #expect(try cache.value(Data.self, forKey: "short") == short)
      #expect(try cache.value(Data.self, forKey: "long") == long)
      #expect(try cache.value(Int.self, forKey: "absent") == nil)
      cache.memory.removeAll()
    }
    FaultInjection.end(session)
    clock.advance(by: .seconds(60))
    #expect(
      eventually {
        clock.advance(by: .seconds(1))
        return errorCode { try cache.set(Data("new".utf8), forKey: "short") } == nil
      })
    try cache.close()
    cache = try open()
    #expect(try cache.value(Data.self, forKey: "short") == Data("new".utf8))
    #expect(try cache.value(Data.self, forKey: "long") == long)
    try cache.close()
  }

  /// Its expiry stays, whatever is written in its place.
  @Test func anEntryInMemoryOnlyKeepsItsExpiry() throws {
    let clock = ManualClock()
    let cache = try directory.open {
      $0.disk.inlineThreshold = 1_000
      $0.clock = .manual(clock)
    }
    try cache.increment(forKey: "warm")
    try cache.flush()
    let sessions = failValues()
    for key in ["a", "b", "c"] {
      try cache.set(String(repeating: "v", count: 5_000), forKey: key, expires: .after(.seconds(10)))
    }
    try cache.update(String.self, forKey: "a") { $0 = "short" }
    try cache.set("short", forKey: "b", expires: .unchanged)
    #expect(errorCode { try cache.touch(forKey: "c", expires: .after(.seconds(1_000))) } == .notCommitted)
    #expect(try cache.value(String.self, forKey: "a") == "short")
    #expect(try cache.value(String.self, forKey: "c") != nil)
    for session in sessions { FaultInjection.end(session) }
    clock.advance(by: .seconds(11))
    for key in ["a", "b", "c"] { #expect(try cache.value(String.self, forKey: key) == nil) }
    _ = errorCode { try cache.close() }
  }

  /// Such a snapshot or copy would be older than what reads returned.
  @Test func noSnapshotHasWhatIsHidden() throws {
    let clock = ManualClock()
    let copy = CacheDirectory()
    let cache = try directory.open {
      $0.disk.inlineThreshold = 1_000
      $0.clock = .manual(clock)
    }
    try cache.set("old", forKey: "key")
    try cache.flush()
    let sessions = failValues()
    let new = String(repeating: "n", count: 5_000)
    try cache.set(new, forKey: "key")
    #expect(try cache.value(String.self, forKey: "key") == new)
    do {
      let seen = try cache.read { try $0.value(String.self, forKey: "key") }
      #expect(seen != "old")
    } catch let error as CacheError { #expect(error.code == .notCommitted) }
    #expect(errorCode { try cache.backUp(to: copy.url("copy")) } == .noSpace)
    for session in sessions { FaultInjection.end(session) }
    _ = errorCode { try cache.close() }
  }

  /// Makes writes of long values fail.
  private func failValues() -> [FaultInjection.SessionID] {
    [
      FaultInjection.begin(
        .directory(directory.path + "/values"),
        [.init(.pwrite, returns: ENOSPC, count: .max), .init(.fallocate, returns: ENOSPC, count: .max)])
    ]
  }

  @Test func aJournalThatCannotBeMadeKeepsValuesInMemory() throws {
    let clock = ManualClock()
    let cache = try directory.open { $0.clock = .manual(clock) }
    directory.write(Data(), to: JournalName.folder)
    try cache.set("v", forKey: "key")
    #expect(try cache.value(String.self, forKey: "key") == "v")
    if case .memoryOnly = cache.health {} else { Issue.record("\(cache.health)") }
    try FileManager.default.removeItem(at: directory.url(JournalName.folder))
    clock.advance(by: .seconds(60))
    try cache.set("w", forKey: "other")
    #expect(
      eventually {
        clock.advance(by: .seconds(1))
        _ = try? cache.set("x", forKey: "key")
        return cache.health.isHealthy && !directory.journals.isEmpty
      })
    try cache.set("y", forKey: "key")
    // Reports its own lost writes once.
    _ = errorCode { try cache.flush() }
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "key") == "y")
    try cache.close()
  }
}
