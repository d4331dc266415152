import Testing

@testable import LMDBCaching

/// Wall clocks that jump, and implausible times.
@Suite struct ClockTests {
  let clock = ManualClock()

  @Test func expiredValuesStayExpiredAfterAClockStep() {
    let cache = MemoryCache<String, Int>(clock: .manual(clock))
    cache.set(1, forKey: "key", expiresIn: .seconds(10))
    clock.advance(by: .seconds(10))
    #expect(!cache.contains("key"))
    clock.set(clock.now - 3_600_000_000_000)
    #expect(cache.value(forKey: "key") == nil)
  }

  /// A later reading by another thread does not look like a clock set back.
  @Test func interruptedClockReadsDoNotMoveTheTime() {
    let floor = TimeFloor()
    // A clock ahead of the wall clock wrote this; the wall clock has caught up.
    floor.advance(to: 2_276_000_000, monotonic: 0)
    let second: Int64 = 1_000_000_000
    #expect(floor.time(9 * second, 8 * second + second / 2) == 9 * second)
    func interrupted(at wall: Int64) -> Int64 {
      #expect(floor.time(wall + second, wall + second / 2) == wall + second)
      return wall
    }
    #expect(floor.time(interrupted(at: 10 * second), 10 * second + second / 2) == 10 * second)
    #expect(floor.latestTime == 11 * second)
  }
}
