import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Wall clocks set while a cache is open.
@Suite struct ClockJumpTests {
  let directory = CacheDirectory()
  let clock = ManualClock()

  static let hour: Int64 = 3_600_000_000_000

  private func open() throws -> LMDBCache { try directory.open { $0.clock = .manual(clock) } }

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
