import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Wall clocks set while a cache is open.
@Suite struct ClockJumpTests {
  let directory = CacheDirectory()
  let clock = ManualClock()

  static let hour: Int64 = 3_600_000_000_000
  static let jumps: [Int64] = [-hour, hour, -24 * 365 * 10 * hour, 24 * 365 * 10 * hour, -1, 1]

  private func open() throws -> LMDBCache { try directory.open { $0.clock = .manual(clock) } }

  private func views(_ cache: LMDBCache, _ key: String) throws -> [Bool] {
    [
      try cache.value(String.self, forKey: key) != nil, try cache.withoutMemory.value(String.self, forKey: key) != nil,
      try cache.contains(key), try cache.contains(key),
      try cache.entries(withPrefix: key).contains { $0.key == key },
      try cache.read { try $0.value(String.self, forKey: key) != nil },
      try cache.withBytes(forKey: key) { _ in } != nil,
    ]
  }

  @Test(arguments: jumps) func everyWayToLookAgreesAfterAJump(_ jump: Int64) throws {
    var cache = try open()
    let start = clock.now
    try cache.set("v", forKey: "minute", expires: .after(.seconds(60)))
    try cache.set("v", forKey: "day", expires: .after(.seconds(86_400)))
    try cache.flush()
    clock.set(start + jump)
    for isReopened in [false, true] {
      if isReopened {
        try cache.close()
        cache = try open()
      }
      #expect(Set(try views(cache, "minute")) == [jump < 60_000_000_000], "reopened: \(isReopened)")
      #expect(Set(try views(cache, "day")) == [jump < 24 * Self.hour], "reopened: \(isReopened)")
    }
    try cache.close()
  }

  /// A lifetime counts from the clock after the jump.
  @Test(arguments: jumps) func aTimeToLiveCountsFromTheNewTime(_ jump: Int64) throws {
    let cache = try open()
    try cache.set("old", forKey: "key", expires: .after(.seconds(60)))
    clock.set(clock.now + jump)
    try cache.set("new", forKey: "key", expires: .after(.seconds(60)))
    clock.advance(by: .seconds(59))
    #expect(Set(try views(cache, "key")) == [true])
    // Time is accurate to a millisecond.
    clock.advance(by: .milliseconds(1_001))
    #expect(Set(try views(cache, "key")) == [false])
    try cache.disk.trim(to: .limits)
    #expect(try cache.count == 0)
    try cache.close()
  }

  /// The order of use does not depend on the wall clock.
  @Test(arguments: [-hour, -24 * hour], [Int.max, 0])
  func theLastWrittenIsNotTheLeastRecentlyUsed(_ jump: Int64, _ memoryLimit: Int) throws {
    let cache = try directory.open {
      $0.clock = .manual(clock)
      $0.memory.countLimit = memoryLimit
    }
    for index in 0..<5 { try cache.set("v", forKey: "old\(index)") }
    try cache.flush()
    clock.set(clock.now + jump)
    try cache.set("v", forKey: "new")
    try cache.trim(to: .count(1))
    #expect(try cache.entries().map(\.key) == ["new"])
    #expect(try cache.value(String.self, forKey: "new") == "v")
    try cache.close()
  }

  @Test func anEntryIsNotOldSinceTheClockWasAhead() throws {
    let cache = try open()
    clock.set(clock.now + 24 * Self.hour)
    try cache.set("v", forKey: "ahead")
    try cache.flush()
    clock.set(clock.now - 24 * Self.hour)
    try cache.set("v", forKey: "now")
    try cache.flush()
    try cache.trim(to: .age(.seconds(60)))
    #expect(try cache.entries().map(\.key) == ["ahead", "now"])
    // It expires in time, although its last use is in the future.
    clock.advance(by: .seconds(26 * 3_600))
    try cache.trim(to: .age(.seconds(60)))
    #expect(try cache.entries().isEmpty)
    try cache.close()
  }
}
