import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Sizes, costs, durations and clocks at the ends of their ranges.
@Suite struct ExtremeTests {
  let directory = CacheDirectory()

  @Test func theLongestKeyAndValue() throws {
    let failures = try ProcessScript([
      ("open \(directory.path)", .ok), ("set stays v", .ok), ("key \(16 << 20)", .ok),
      ("refusedkey \(16 << 20 + 1)", .ok),
      // The bytes are never read, and need no memory.
      ("huge \(1 << 32)", .ok), ("huge \(1 << 33)", .ok), ("get stays", .text("v")), ("count", .text("1")),
      ("close", .ok),
    ]).failures(within: 120)
    #expect(failures == [])
  }

  static let durations = ["max-s", "max-ns", "9223372036854775806", "0", "1", "-1", "min-ns", "min-s"]

  @Test(arguments: durations) func aDurationOfACall(_ word: String) throws {
    let lasts = Int64(word).map { $0 > 1 } ?? word.hasPrefix("max")
    let kept = lasts ? ProcessScript.Answer.text("v") : .text("nil")
    let isNegative = word.hasPrefix("-") || word.hasPrefix("min")
    for clock in ["", " wall=1700000000000000000"] {
      let failures = try ProcessScript([
        ("open \(directory.path)\(clock)", .ok), ("set key v", .ok),
        ("setfor timed v \(word)", .ok), ("get timed", word == "1" ? .anything : kept),
        ("batchfor timed v \(word)", .ok), ("get timed", word == "1" ? .anything : kept), ("flush", .ok),
        ("forget", .ok), ("get timed", word == "1" ? .anything : kept),
        ("memorytrimage \(word)", .ok), ("get key", .text("v")),
        ("trimage \(word)", isNegative ? .oneOf(["error invalidArgument"]) : .ok),
        ("get key", lasts || isNegative ? .text("v") : .noError), ("set key v", .ok),
        ("agelimit \(word)", .ok), ("trimlimits", .ok), ("get key", lasts || isNegative ? .text("v") : .noError),
        (clock.isEmpty ? "count" : "advance 1000000", .noError), ("autotrim \(word)", .ok),
        ("memoryautotrim \(word)", .ok), ("set key v", .ok), ("flush", .ok),
        (clock.isEmpty ? "count" : "advance 1000000", .noError), ("autotrim 0", .ok), ("memoryautotrim 0", .ok),
        ("get key", lasts ? .text("v") : .noError), ("close", .ok),
      ]).failures()
      #expect(failures == [], "\(clock)")
    }
  }

  static let hour: Int64 = 3_600_000_000_000

  /// The order of use does not depend on the wall clock. `DrawnExtremeTests` sets it at random.
  @Test(arguments: [-hour, -24 * hour], [Int.max, 0])
  func theLastWrittenIsNotTheLeastRecentlyUsed(_ jump: Int64, _ memoryLimit: Int) throws {
    let clock = ManualClock()
    let cache = try directory.open {
      $0.clock = .manual(clock)
      $0.memory.countLimit = memoryLimit
    }
    for index in 0..<5 { try cache.set("v", forKey: "old\(index)") }
    try cache.flush()
    clock.set(clock.now + jump)
    try cache.set("v", forKey: "new")
    try cache.trim(to: .count(1))
    #expect(try cache.entries().map(\.key) == ["new"] && cache.value(String.self, forKey: "new") == "v")
    try cache.close()
  }
}
