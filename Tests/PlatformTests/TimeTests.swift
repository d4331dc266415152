import Platform
import Synchronization
import Testing

@Suite struct TimeTests {
  @Test(
    arguments: [
      (0, 0, 0), (1, 5, 1_000_000_005), (-1, 999_999_999, -1), (-5_000_000_000, 0, -5_000_000_000_000_000_000),
      (4_300_000_000, 0, 4_300_000_000_000_000_000), (9_223_372_036, 854_775_807, .max),
      (9_223_372_036, 854_775_808, .max), (20_000_000_000, 0, .max), (.max, 999_999_999, .max), (.min, 0, .min),
      (-20_000_000_000, 999_999_999, .min),
    ] as [(Int, Int, Int64)]) func timesAreClamped(_ seconds: Int, _ nanoseconds: Int, _ expected: Int64)
  {
    #expect(RealTimeClock.nanoseconds(timespec(tv_sec: seconds, tv_nsec: nanoseconds)) == expected)
  }

  @Test(arguments: [Int64.max, Int64.max - 1, Int64(292 * 365 * 86_400) * 1_000_000_000, 1_000_000_000_000_000_000])
  func aLongWaitIsNoTrap(_ nanoseconds: Int64) throws {
    let lock = ConditionLock()
    let isSet = Atomic<Bool>(false)
    lock.lock()
    try PlatformThread.start(name: "signals") {
      lock.withLock { isSet.store(true, ordering: .relaxed) }
      lock.signalAll(.work)
    }
    while !isSet.load(ordering: .relaxed) { #expect(lock.wait(for: .work, nanoseconds: nanoseconds)) }
    lock.unlock()
  }
}
