import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Wall clocks that jump, and implausible times.
@Suite struct ClockTests {
  let clock = ManualClock()

  private static let hour: Int64 = 3_600_000_000_000

  @Test func aMemoryCacheDoesNotGoBackEither() {
    let cache = MemoryCache<String, Int>(clock: .manual(clock))
    cache.set(1, forKey: "key", expiresIn: .seconds(10))
    clock.advance(by: .seconds(10))
    #expect(!cache.contains("key"))
    clock.set(clock.now - Self.hour)
    #expect(cache.value(forKey: "key") == nil)
  }

  /// Random clock steps: time never goes back, and advances at least as fast as the monotonic clock.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func theTimeNeverGoesBack(_ seed: UInt64) {
    var random = SeededRandom(seed)
    let cacheClock = CacheClock.manual(clock)
    var last = cacheClock.now
    for _ in 0..<2_000 {
      let step = Int64.random(in: 0...5_000_000, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: clock.set(clock.now &- Int64.random(in: 0...Self.hour, using: &random))
      case 1: clock.set(clock.now &+ Int64.random(in: 0...Self.hour, using: &random))
      default: clock.advance(by: .nanoseconds(step))
      }
      let now = cacheClock.now
      // The stored floor is accurate to one step.
      #expect(now >= last - 1_000_000 && now >= clock.now)
      last = max(last, now)
    }
  }

  /// A later reading by another thread does not look like a clock set back.
  @Test func whoIsInterruptedAtTheClockDoesNotMoveTheTime() {
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

  @Test func theSystemsClockIsTheWallClock() {
    let before = Date().addingTimeInterval(-0.001)
    let date = CacheClock.system.date
    #expect(date >= before && date <= Date().addingTimeInterval(0.001))
  }

  /// Includes durations beyond 64 bits of seconds.
  @Test(
    arguments: [
      (.zero, 0), (.seconds(-1), -1_000_000_000), (.nanoseconds(Int64.max), .max), (.nanoseconds(Int64.min), .min),
      (.nanoseconds(Int64.min + 1), .min + 1), (.nanoseconds(Int64.max - 1), .max - 1),
      (.seconds(Int64.max), .max), (.seconds(Int64.min), .min), (.seconds(Int64.max) * 3, .max),
      (.seconds(Int64.min) * 3, .min), (Duration(attoseconds: .max), .max), (Duration(attoseconds: .min), .min),
    ] as [(Duration, Int64)])
  func everyDurationIsNanoseconds(_ duration: Duration, _ nanoseconds: Int64) {
    #expect(duration.clampedNanoseconds == nanoseconds)
  }

  @Test func longIntervalsAreTimersToo() {
    let system = CacheClock.system.repeating(every: .seconds(Int64.max), tolerance: .seconds(Int64.max)) {}
    system.cancel()
    let fired = Guarded(0)
    let timer = CacheClock.manual(clock).repeating(every: .seconds(1)) { fired { $0 += 1 } }
    clock.advance(by: .seconds(3))
    #expect(fired.current == 3)
    timer.cancel()
    // Advances to the end of time, where a timer fires.
    let late = CacheClock.manual(clock).repeating(every: .seconds(200 * 86_400)) { fired { $0 += 1 } }
    let last = CacheClock.manual(clock).repeating(every: .seconds(Int64.max)) {}
    clock.advance(by: .seconds(9_000_000_000))
    clock.advance(by: .seconds(Int64.max))
    #expect(clock.monotonic == .max && clock.now == .max && fired.current > 500)
    late.cancel()
    last.cancel()
  }
}
