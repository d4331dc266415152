import Testing

@testable import LMDBCaching

@Suite struct ClockTests {
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
