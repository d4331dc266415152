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
    #expect(writer.run("open \(directory.path) interval=86400000") == "ok")
    #expect(writer.run("big large 2097152") == "ok")
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
    #expect(writer.run("forget") == "ok")
    #expect(writer.run("isbig large 2097152") == "ok")
    #expect(writer.run("flush") == "ok")
    #expect(try cache.value(Data.self, forKey: "large")?.count == 2_097_152)
    #expect(writer.run("forget") == "ok")
    #expect(writer.run("isbig large 2097152") == "ok")
    #expect(writer.run("close") == "ok")
    try cache.close()
  }

  /// A batch takes one stamp per change, so stamps run ahead of the clock. The other process writes a millisecond later,
  /// and is killed before its commit, or not.
  @Test(arguments: [true, false], [true, false])
  func aSetAfterALargeBatchIsKept(_ endsInRemoval: Bool, _ isKilled: Bool) throws {
    // Fixed clocks of one machine, nanoseconds apart, however slow it is.
    let (wall, monotonic) = (CacheClock.system.now, CacheClock.system.monotonic)
    func clock(after nanoseconds: Int64) -> CacheClock {
      let clock = ManualClock(now: wall - monotonic)
      clock.advance(by: .nanoseconds(monotonic + nanoseconds))
      return .manual(clock)
    }
    let cache = try directory.open { $0.clock = clock(after: 0) }
    for key in ["key", "removed"] { try cache.set("old", forKey: key) }
    try cache.flush()
    let other = try cacheProcess()
    let option = "clock=\(wall + 1_000_000):\(monotonic + 1_000_000)"
    #expect(other.run("open \(directory.path) interval=86400000 \(option)") == "ok")
    #expect(other.run("get key") == "old")
    try cache.write(waitsForCommit: true) { batch in
      for index in 0..<100_000 { batch.removeValue(forKey: "k\(index)") }
      if endsInRemoval { batch.removeAll() } else { for key in ["key", "removed"] { batch.set("older", forKey: key) } }
    }
    // A read value is older than the next change.
    #expect(other.run("get key") == (endsInRemoval ? "nil" : "older"))
    #expect(other.run("set key new") == "ok")
    #expect(other.run("remove removed") == "ok")
    if isKilled {
      other.kill()
    } else {
      #expect(other.run("flush") == "ok" && other.run("forget") == "ok" && other.run("get key") == "new")
      #expect(try cache.value(String.self, forKey: "key") == "new")
      #expect(other.run("close") == "ok")
    }
    try cache.close()
    let again = try directory.open { $0.clock = clock(after: 2_000_000) }
    #expect(try again.value(String.self, forKey: "key") == "new")
    #expect(try again.value(String.self, forKey: "removed") == nil)
    try again.close()
  }
}
