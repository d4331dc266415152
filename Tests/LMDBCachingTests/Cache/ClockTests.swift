import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Wall clocks that jump, and implausible times.
@Suite struct ClockTests {
  let directory = CacheDirectory()
  let clock = ManualClock()

  private func open(_ directory: CacheDirectory? = nil) throws -> LMDBCache {
    let clock = clock
    return try (directory ?? self.directory).open { $0.clock = .manual(clock) }
  }

  private static let hour: Int64 = 3_600_000_000_000

  private func isGone(_ key: String, _ cache: LMDBCache) throws -> Bool {
    let inSnapshot = try cache.read { snapshot in try snapshot.value(Int.self, forKey: key) }
    return try cache.value(Int.self, forKey: key) == nil && cache.withoutMemory.value(Int.self, forKey: key) == nil
      && !cache.contains(key) && !cache.contains(key) && inSnapshot == nil
      && cache.entries(withPrefix: key).isEmpty
  }

  @Test func whatHasExpiredStaysGoneWhenTheClockIsSetBack() throws {
    let cache = try open()
    try cache.set(1, forKey: "key", expires: .after(.seconds(10)))
    clock.advance(by: .seconds(10))
    #expect(try isGone("key", cache))
    for _ in 0..<3 {
      clock.set(clock.now - Self.hour)
      #expect(try isGone("key", cache))
      // New entries expire on time.
      try cache.set(2, forKey: "new", expires: .after(.seconds(10)))
      clock.advance(by: .milliseconds(9_990))
      #expect(try cache.value(Int.self, forKey: "new") == 2)
      #expect(try cache.withoutMemory.value(Int.self, forKey: "new") == 2)
      clock.advance(by: .milliseconds(20))
      #expect(try isGone("new", cache))
    }
    // When the wall clock catches up, time continues and does not go back.
    let before = cache.store.clock.now
    clock.set(clock.now + 3 * Self.hour - 1_000_000_000)
    #expect(cache.store.clock.now >= before)
    #expect(try isGone("key", cache) && isGone("new", cache))
    clock.set(clock.now + Self.hour)
    #expect(cache.store.clock.now == clock.now)
    try cache.close()
  }

  /// A new process takes its lower bound from the cache.
  @Test func theTimeIsNotBeforeTheLastWrite() throws {
    var cache = try open()
    try cache.set(1, forKey: "key", expires: .after(.seconds(10)))
    clock.advance(by: .seconds(10))
    try cache.set(2, forKey: "later")
    try cache.close()
    clock.set(clock.now - Self.hour)
    cache = try open()
    #expect(try isGone("key", cache))
    #expect(try cache.value(Int.self, forKey: "later") == 2)
    try cache.close()
  }

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

  /// Before 1970, after 2106 (32 bits of seconds), and the ends of 64 bits.
  @Test(
    arguments: [
      .min, .min + 1, -2_000_000_000_000_000_000, -1, 0, 1, 4_294_967_295_000_000_000, 5_000_000_000_000_000_000,
      .max - 1_000_000_000, .max,
    ] as [Int64])
  func anyTimeWorks(_ now: Int64) throws {
    clock.set(now)
    let cache = try open()
    cache.memory.ageLimit = .seconds(1_000)
    cache.memory.autoTrimInterval = .seconds(Int64.max)
    cache.disk.autoTrimInterval = .seconds(Int64.max)
    for index in 0..<20 { try cache.set(index, forKey: "key\(index)") }
    try cache.set(1, forKey: "expiring", expires: .after(.seconds(Int64.max) * 2))
    try cache.flush()
    for index in 0..<20 { #expect(try cache.value(Int.self, forKey: "key\(index)") == index) }
    for entry in try cache.entries() { #expect(entry.size > 0) }
    try cache.disk.trim(to: .limits)
    try cache.trim(to: .age(.seconds(Int64.max)))
    try cache.disk.trim(to: .count(5))
    #expect(try cache.count <= 5)
    cache.memory.autoTrimInterval = .seconds(3)
    clock.advance(by: .seconds(10))
    try cache.set(1, forKey: "key")
    _ = try cache.value(Int.self, forKey: "key")
    try cache.close()
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

  @Test(arguments: [Date.distantPast, .distantFuture, Date(timeIntervalSince1970: .infinity), Date()])
  func datesBecomeTimes(_ date: Date) {
    clock.set(date)
    if abs(date.timeIntervalSince1970) < 9e9 {
      #expect(abs(clock.date.timeIntervalSince(date)) < 0.001)
    } else {
      #expect(clock.now == (date.timeIntervalSince1970 < 0 ? .min : .max))
    }
  }
}
