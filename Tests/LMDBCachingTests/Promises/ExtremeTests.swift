import Foundation
import LMDBCaching
import TestSupport
import Testing

/// Sizes, costs, durations and clocks at the ends of their ranges.
@Suite struct ExtremeTests {
  let directory = CacheDirectory()

  // MARK: Sizes and costs

  static let lengths = [0, 1, 2, 27, 28, 493, 494, 495, 510, 511, 512, 513, 4_095, 65_535, 65_536]

  @Test(arguments: ["k", "NUL", "é", "MAX"]) func aKeyOfAnyLength(_ text: String) throws {
    var steps: [(String, ProcessScript.Answer)] = [
      ("open \(directory.path) journal=65536", .ok), ("set stays v", .ok),
    ]
    for length in Self.lengths { steps.append(("key \(length) \(text)", .ok)) }
    steps += [("get stays", .text("v")), ("count", .text("1")), ("close", .ok)]
    let failures = try ProcessScript(steps).failures(within: 60)
    #expect(failures == [])
  }

  @Test func theLongestKeyAndValue() throws {
    let failures = try ProcessScript([
      ("open \(directory.path)", .ok), ("set stays v", .ok), ("key \(16 << 20) k", .ok),
      ("refusedkey \(16 << 20 + 1)", .ok),
      // The bytes are never read, and need no memory.
      ("huge \(1 << 32)", .ok), ("huge \(1 << 33)", .ok), ("get stays", .text("v")), ("count", .text("1")),
      ("close", .ok),
    ]).failures(within: 120)
    #expect(failures == [])
  }

  /// Around the header's length, the threshold, a quarter of the journal and a page.
  @Test(arguments: [0, 27, 100, 4_000, 4_080, 8_100, 16_250, 16_350]) func aValueOfAnySize(_ first: Int) throws {
    let threshold = 4_096
    let sizes = first..<first + 60
    var random = SeededRandom(UInt64(first))
    let values = sizes.map { Data(random.bytes($0)) }
    func data(_ size: Int) -> Data { values[size - first] }
    func expect(_ cache: LMDBCache, _ place: String) throws {
      for size in sizes {
        let found = try cache.value(Data.self, forKey: "v\(size)")
        #expect(found == data(size), "\(size) bytes, \(place)")
        let disk = try cache.withoutMemory.value(Data.self, forKey: "v\(size)")
        #expect(disk == data(size), "\(size) bytes, \(place)")
        let length = try cache.withBytes(forKey: "v\(size)") { $0.byteCount }
        #expect(length == size, "\(size) bytes, \(place)")
      }
    }
    for limit in [threshold, 1 << 20] {
      let cache = try directory.open { configuration in
        neverCommitting(&configuration)
        configuration.disk.inlineThreshold = limit
        configuration.disk.journalSize = 64 << 10
      }
      for size in sizes { try cache.set(data(size), forKey: "v\(size)") }
      try expect(cache, "memory")
      cache.memory.removeAll()
      try expect(cache, "journal")
      try cache.flush()
      cache.memory.removeAll()
      try expect(cache, "database")
      try cache.write { batch in for size in sizes { batch.set(data(size), forKey: "v\(size)") } }
      cache.memory.removeAll()
      try expect(cache, "batch")
      try cache.close()
      let again = try directory.open()
      try expect(again, "reopened")
      try again.close()
    }
  }

  /// Costs whose sum overflows 64 bits.
  @Test(arguments: [1, 2, 5]) func theSumOfCostsComesBackFromItsGreatestValue(_ count: Int) throws {
    var cache = try directory.open()
    for index in 0..<count { try cache.set("a", forKey: "a\(index)", cost: .max) }
    try cache.set("b", forKey: "b", cost: 10)
    #expect(try cache.totalCost == .max)
    try cache.flush()
    for index in 1..<count {
      if index.isMultiple(of: 2) {
        try cache.removeValue(forKey: "a\(index)")
      } else {
        try cache.set("a", forKey: "a\(index)", cost: 0)
      }
      #expect(try cache.totalCost == .max, "after \(index)")
    }
    // The oldest goes, and the others fit.
    try cache.trim(to: .cost(100))
    #expect(try cache.totalCost == 10)
    #expect(cache.memory.totalCost == 10)
    try cache.close()
    cache = try directory.open()
    #expect(try cache.totalCost == 10)
    #expect(try cache.value(String.self, forKey: "b") == "b")
    try cache.close()
  }

  // MARK: Times

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

  // MARK: Wall clocks that are set. The trial `clock-jumps` sets them at random

  static let hour: Int64 = 3_600_000_000_000

  /// The order of use does not depend on the wall clock.
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
    #expect(try cache.entries().map(\.key) == ["new"])
    #expect(try cache.value(String.self, forKey: "new") == "v")
    try cache.close()
  }

  @Test func anEntryIsNotOldSinceTheClockWasAhead() throws {
    let clock = ManualClock()
    let cache = try directory.open { $0.clock = .manual(clock) }
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
