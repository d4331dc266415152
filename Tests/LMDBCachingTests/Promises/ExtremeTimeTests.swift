import Foundation
import TestSupport
import Testing

/// Durations and clocks at the ends of their ranges.
@Suite struct ExtremeTimeTests {
  let directory = CacheDirectory()

  static let options = ["every", "lockfor", "memoryage", "diskage"]
  static let durations = ["max-s", "max-ns", "9223372036854775806", "0", "1", "-1", "min-ns", "min-s"]

  /// Values out of an option's range are refused; all others work.
  @Test(arguments: options, durations) func aDurationOfTheConfiguration(_ option: String, _ word: String) throws {
    // A limit of zero keeps nothing.
    let keeps = option == "every" || option == "lockfor" || Int64(word).map { $0 > 1 } ?? word.hasPrefix("max")
    let kept = keeps ? ProcessScript.Answer.text("v") : .noError
    for clock in ["", " wall=1700000000000000000"] {
      let open = "open \(directory.path) \(option)=\(word)\(clock)"
      let failures = try ProcessScript([
        (open, .okUnlessRefused(["invalidArgument"])), ("set key v", .ok), ("between", .ok), ("get key", kept),
        ("flush", .ok),
        ("forget", .ok), ("get key", kept), ("setfor brief v 60000000000", .ok), ("trimlimits", .ok), ("get key", kept),
        (clock.isEmpty ? "count" : "maintain", .noError), ("get key", kept), ("set key v", .ok), ("close", .ok),
        (open, .ok), ("get key", kept), ("close", .ok),
      ]).failures()
      #expect(failures == [], "\(clock)")
    }
  }

  @Test(arguments: durations) func aDurationOfACall(_ word: String) throws {
    let lasts = Int64(word).map { $0 > 1 } ?? word.hasPrefix("max")
    let kept = lasts ? ProcessScript.Answer.text("v") : .text("nil")
    let isNegative = word.hasPrefix("-") || word.hasPrefix("min")
    for clock in ["", " wall=1700000000000000000"] {
      let failures = try ProcessScript([
        ("open \(directory.path)\(clock)", .ok), ("set key v", .ok),
        ("setfor timed v \(word)", .ok), ("get timed", word == "1" ? .anything : kept),
        ("batchfor timed v \(word)", .ok), ("get timed", word == "1" ? .anything : kept), ("flush", .ok),
        ("forget", .ok),
        ("get timed", word == "1" ? .anything : kept),
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

  /// Nanoseconds since 1970: before it, at it, after 2106 (32 bits of seconds), and the extremes.
  static let walls: [Int64] = [
    .min, .min + 1, -8_000_000_000_000_000_000, -86_400_000_000_000, -1, 0, 1, 4_294_967_295_000_000_000,
    4_294_967_296_000_000_000, 5_000_000_000_000_000_000, 9_000_000_000_000_000_000,
  ]

  @Test(arguments: walls) func aWallClock(_ wall: Int64) throws {
    let failures = try ProcessScript([
      ("open \(directory.path) wall=\(wall)", .ok), ("set key v", .ok), ("get key", .text("v")),
      ("setfor minute v 60000000000", .ok), ("setfor ever v max-s", .ok), ("get minute", .text("v")),
      ("flush", .ok), ("forget", .ok), ("get key", .text("v")), ("get minute", .text("v")), ("get ever", .text("v")),
      ("trimage 3600000000000", .ok), ("get key", .text("v")), ("trimage max-s", .ok), ("get key", .text("v")),
      ("memorytrimage max-s", .ok), ("agelimit 3600000000000", .ok), ("trimlimits", .ok), ("get key", .text("v")),
      ("advance 59000000000", .ok), ("get minute", .text("v")), ("maintain", .ok),
      ("get minute", .text("nil")), ("forget", .ok), ("get minute", .text("nil")), ("get key", .text("v")),
      ("trimlimits", .ok), ("count", .text("2")),
      ("keys", .text("ever,key")), ("big large 2000000", .ok), ("sweep", .ok), ("isbig large 2000000", .ok),
      ("close", .ok),
      ("open \(directory.path) wall=\(wall + 300_000_000_000)", .ok), ("get key", .text("v")), ("get ever", .text("v")),
      ("isbig large 2000000", .ok), ("set key w", .ok), ("trimcount 1", .ok), ("get key", .text("w")), ("close", .ok),
      // Opened with the right time.
      ("open \(directory.path)", .ok), ("get key", .text("w")), ("set key x", .ok), ("flush", .ok), ("forget", .ok),
      ("get key", .text("x")), ("close", .ok),
      ("open \(directory.path) wall=\(wall)", .ok), ("get key", .text("x")), ("close", .ok),
    ]).failures()
    #expect(failures == [])
  }

  @Test(arguments: walls, [0, 1_700_000_000_000_000_000]) func aWallClockThatIsSet(_ first: Int64, _ second: Int64)
    throws
  {
    let failures = try ProcessScript([
      ("open \(directory.path) wall=\(first)", .ok), ("set first v", .ok), ("setfor brief v 60000000000", .ok),
      ("flush", .ok), ("setclock \(second)", .ok), ("get first", .text("v")), ("set second v", .ok),
      ("get second", .text("v")), ("flush", .ok), ("maintain", .ok), ("memorytrimage 3600000000000", .ok),
      ("trimlimits", .ok), ("get first", .text("v")), ("get second", .text("v")),
      ("setclock \(first)", .ok), ("get first", .text("v")), ("get second", .text("v")), ("maintain", .ok),
      ("forget", .ok),
      ("get first", .text("v")), ("get second", .text("v")), ("close", .ok),
      ("open \(directory.path) wall=\(second)", .ok), ("get first", .text("v")), ("get second", .text("v")),
      ("close", .ok),
    ]).failures()
    #expect(failures == [])
  }
}
