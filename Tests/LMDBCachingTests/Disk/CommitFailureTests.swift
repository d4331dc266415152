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
    let cache = try directory.open {
      $0.clock = .manual(clock)
      $0.disk.journalSize = 64 << 10
      $0.disk.inlineThreshold = 1 << 20
      $0.memory.countLimit = memoryLimit
    }
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
      #expect(try cache.value(String.self, forKey: "key") == "in the journal")
      #expect(try cache.value(String.self, forKey: "removed") == nil)
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
    try cache.set("after", forKey: "after")
    try cache.close()
    let reopened = try directory.open()
    try expect(reopened)
    #expect(try reopened.value(String.self, forKey: "after") == "after")
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
    _ = fill(cache, "fill")
    while errorCode({ try cache.set(1, forKey: "f") }) == nil {}
    _ = errorCode { try cache.removeAll() }
    for key in ["committed", "pending", "fill0", "f"] {
      #expect(try cache.value(String.self, forKey: key) == nil)
    }
    FaultInjection.end(session)
    clock.advance(by: .seconds(40))
    #expect(recovers(cache, clock))
    #expect(try cache.entries().isEmpty)
    #expect(try cache.count == 0)
    try cache.close()
  }

  /// Its file may take the long value, or else memory.
  @Test func aLongValueThatCannotBeWrittenGoesToTheJournal() throws {
    let clock = ManualClock()
    let cache = try directory.open {
      $0.clock = .manual(clock)
      $0.disk.inlineThreshold = 100
    }
    try cache.set("old", forKey: "key", expires: .after(.seconds(10)))
    try cache.flush()
    // A file at the folder's path: no segment can be made.
    directory.write(Data(), to: ValueFolder.name)
    for count in [500, 100_000] {
      let big = String(repeating: "b", count: count)
      try cache.set(big, forKey: "key", expires: .unchanged)
      #expect(!cache.health.isHealthy)
      #expect(try cache.value(String.self, forKey: "key") == big)
      cache.memory.removeAll()
      #expect(try cache.value(String.self, forKey: "key") == big)
      try cache.withoutMemory.set(big, forKey: "other")
      try cache.touch(forKey: "other", expires: .after(.seconds(100)))
      try cache.flush()
      #expect(cache.health.isHealthy)
    }
    let tooLong = Data(count: 2 << 20)
    #expect(errorCode { try cache.set(tooLong, forKey: "key") } == .storageFailed)
    #expect(errorCode { try cache.write(waitsForCommit: true) { $0.set(tooLong, forKey: "key") } } == .storageFailed)
    #expect(try cache.value(String.self, forKey: "key")?.utf8.count == 100_000)
    #expect(try cache.read { try $0.value(String.self, forKey: "key") }?.utf8.count == 100_000)
    clock.advance(by: .seconds(11))
    #expect(try cache.value(String.self, forKey: "key") == nil)
    try cache.close()
    try FileManager.default.removeItem(at: directory.url(ValueFolder.name))
    let reopened = try directory.open { $0.clock = .manual(clock) }
    #expect(try reopened.value(String.self, forKey: "other")?.utf8.count == 100_000)
    try reopened.close()
  }

  @Test(arguments: [Durability.ordered, .full, .fast], [Int.max, 0])
  func aJournalThatCannotBeMadeIsInMemory(_ durability: Durability, _ memoryLimit: Int) throws {
    let clock = ManualClock()
    let cache = try directory.open {
      $0.clock = .manual(clock)
      $0.durability = durability
      $0.memory.countLimit = memoryLimit
    }
    let session = FaultInjection.begin(
      .directory(directory.path + "/journals"), [.init(.pwrite, returns: ENOSPC, count: .max)])
    try cache.set("v", forKey: "key", tags: ["tag"])
    try cache.set(Data(count: 20_000), forKey: "long")
    try cache.removeAll(.prefix("l"))
    try cache.set(1, forKey: "other", if: .absent)
    #expect(try cache.value(String.self, forKey: "key") == "v")
    #expect(try cache.value(Data.self, forKey: "long") == nil)
    if case .memoryOnly = cache.health {} else { Issue.record("\(cache.health)") }
    // The database still takes them.
    try cache.flush()
    #expect(try cache.entries().map(\.key) == ["key", "other"])
    try cache.removeAll(.tag("tag"))
    FaultInjection.end(session)
    #expect(
      try eventually {
        clock.advance(by: .seconds(1))
        try cache.set("x", forKey: "key")
        return cache.health.isHealthy && !directory.journals.isEmpty
      })
    try cache.set("y", forKey: "key")
    let crashed = directory.crashed(cache)
    cache.memory.removeAll()
    #expect(try cache.value(String.self, forKey: "key") == "y")
    cache._checkInvariants()
    try cache.close()
    for place in [directory, crashed] {
      let reopened = try place.open { $0.durability = durability }
      #expect(try reopened.value(String.self, forKey: "key") == "y")
      #expect(try reopened.value(Int.self, forKey: "other") == 1)
      try reopened.close()
    }
  }

  @Test(arguments: [Int.max, 0]) func memoryIsBounded(_ memoryLimit: Int) throws {
    let clock = ManualClock()
    let cache = try directory.open {
      $0.clock = .manual(clock)
      $0.disk.inlineThreshold = 1 << 20
      $0.memory.countLimit = memoryLimit
    }
    try cache.set("old", forKey: "key")
    try cache.flush()
    try cache.close()
    let reopened = try directory.open {
      $0.clock = .manual(clock)
      $0.disk.inlineThreshold = 1 << 20
      $0.memory.countLimit = memoryLimit
    }
    let sessions = [
      fail(.txnCommit, ENOSPC),
      FaultInjection.begin(
        .directory(directory.path + "/journals"), [.init(.pwrite, returns: ENOSPC, count: .max)]),
    ]
    try reopened.set("new", forKey: "key")
    let count = fill(reopened, "fill")
    #expect(1_000...1_400 ~= count)
    #expect(errorCode { try reopened.set(Data(count: 3_000), forKey: "key") } == .noSpace)
    #expect(try reopened.value(String.self, forKey: "key") == "new")
    for index in 0..<count { #expect(try reopened.contains("fill\(index)")) }
    #expect(try !reopened.contains("fill\(count)"))
    reopened._checkInvariants()
    for session in sessions { FaultInjection.end(session) }
    #expect(recovers(reopened, clock))
    try reopened.close()
    let again = try directory.open()
    #expect(try again.count == count + 1)
    #expect(try again.value(String.self, forKey: "key") == "new")
    try again.close()
  }
}
