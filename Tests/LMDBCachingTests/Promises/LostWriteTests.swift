import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Acknowledged writes, and what other processes do that have not seen them.
@Suite struct LostWriteTests {
  let directory = CacheDirectory()

  /// A pending value in the log, and a process whose clock makes the segment look old.
  @Test(arguments: [true, false]) func aLargeValueThatWaitsForItsCommitIsNoOrphan(_ isSuspended: Bool) throws {
    let writer = try cacheProcess()
    #expect(writer.ask("open \(directory.path) interval=86400000") == "ok")
    #expect(writer.ask("big large 2097152") == "ok")
    if isSuspended { writer.suspend() }
    let clock = ManualClock(now: CacheClock.system.now + 600_000_000_000)
    let cache = try directory.open { $0.clock = .manual(clock) }
    try cache.set("v", forKey: "key")
    try cache.flush()
    for _ in 0..<2 {
      clock.advance(by: .seconds(61))
      try cache.disk.trim(to: .limits)
    }
    if isSuspended { writer.resume() }
    #expect(writer.ask("forget") == "ok")
    #expect(writer.ask("isbig large 2097152") == "ok")
    #expect(writer.ask("flush") == "ok")
    #expect(try cache.value(Data.self, forKey: "large")?.count == 2_097_152)
    #expect(writer.ask("forget") == "ok")
    #expect(writer.ask("isbig large 2097152") == "ok")
    #expect(writer.ask("close") == "ok")
    try cache.close()
  }

  /// A batch takes one stamp per change, so stamps run ahead of the clock.
  @Test(arguments: [true, false]) func aSetAfterALargeBatchAndARemovalIsKept(_ inOneBatch: Bool) throws {
    let clocks = SeveralClocks()
    let cache = try directory.open { $0.clock = clocks.clock() }
    try cache.set("old", forKey: "key")
    try cache.flush()
    let other = try cacheProcess()
    #expect(other.ask("open \(directory.path) interval=86400000 \(clocks.option(after: 1_000_000))") == "ok")
    #expect(other.ask("get key") == "old")
    try cache.write { batch in
      for index in 0..<100_000 { batch.removeValue(forKey: "k\(index)") }
      if inOneBatch { batch.removeAll() }
    }
    if !inOneBatch { try cache.removeAll() }
    try cache.flush()
    // A millisecond later.
    #expect(other.ask("set key new") == "ok")
    #expect(other.ask("get key") == "new")
    #expect(other.ask("flush") == "ok")
    #expect(other.ask("forget") == "ok")
    #expect(other.ask("get key") == "new")
    #expect(try cache.value(String.self, forKey: "key") == "new")
    #expect(other.ask("close") == "ok")
    try cache.close()
    let again = try directory.open()
    #expect(try again.value(String.self, forKey: "key") == "new")
    try again.close()
  }

  @Test func theReplayOfAWriteAfterALargeBatchPutsItOverTheBatch() throws {
    let clocks = SeveralClocks()
    let cache = try directory.open { $0.clock = clocks.clock() }
    let other = try cacheProcess()
    #expect(other.ask("open \(directory.path) interval=86400000 \(clocks.option(after: 1_000_000))") == "ok")
    try cache.write(waitsForCommit: true) { batch in
      for index in 0..<100_000 { batch.removeValue(forKey: "k\(index)") }
      batch.set("old", forKey: "key")
      batch.set("old", forKey: "removed")
    }
    // A read value is older than the next change.
    #expect(other.ask("get key") == "old")
    #expect(other.ask("set key new") == "ok")
    #expect(other.ask("remove removed") == "ok")
    other.kill()
    try cache.close()
    let again = try directory.open { $0.clock = clocks.clock(after: 2_000_000) }
    #expect(again.statistics.replayedWrites == 2)
    #expect(try again.value(String.self, forKey: "key") == "new")
    #expect(try again.value(String.self, forKey: "removed") == nil)
    try again.close()
  }
}
