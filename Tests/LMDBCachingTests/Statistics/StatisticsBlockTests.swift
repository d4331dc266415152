import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Published statistics are untrusted bytes.
@Suite struct StatisticsBlockTests {
  static func statistics(_ seed: UInt64 = 1) -> ProcessStatistics {
    var random = SeededRandom(seed)
    var statistics = ProcessStatistics()
    statistics.identifier = 7
    statistics.process = 4_711
    statistics.name = "naïve server"
    statistics.opened = .init(wall: 1_700_000_000_000_000_000, monotonic: 5_000_000_000)
    statistics.published = .init(wall: 1_700_000_001_000_000_000, monotonic: 6_000_000_000)
    for path in CacheStatistics.counters { statistics.statistics[keyPath: path] = random.below(1 << 50) }
    statistics.statistics.loadTime = .nanoseconds(random.below(1 << 50))
    for path in ProcessStatistics.gauges { statistics[keyPath: path] = random.below(1 << 50) }
    for path in CacheLatencies.all {
      for _ in 0..<100 { statistics.latencies[keyPath: path].record(nanoseconds: Int64(random.below(1 << 30))) }
    }
    statistics.isHealthy = false
    return statistics
  }

  @Test func blocksRoundTrip() throws {
    for seed in UInt64(0)..<20 {
      let statistics = Self.statistics(seed)
      let bytes = StatisticsBlock.bytes(statistics, number: seed)
      #expect(bytes.count == StatisticsBlock.size)
      let read = try #require(StatisticsBlock.read(bytes, identifier: 7))
      #expect(read.statistics == statistics)
      #expect(read.number == seed)
    }
  }

  @Test(arguments: ["", "a", String(repeating: "é", count: 32), String(repeating: "é", count: 33), "👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦"])
  func aNameIsCutBetweenCharacters(_ name: String) throws {
    var statistics = Self.statistics()
    statistics.name = name
    let read = try #require(StatisticsBlock.read(StatisticsBlock.bytes(statistics, number: 1), identifier: 7))
    #expect(name.hasPrefix(read.statistics.name))
    #expect(read.statistics.name.utf8.count <= 64)
    #expect(read.statistics.name == name || name.utf8.count > 64)
  }

  /// Counters change during the read, so a part may exceed its whole.
  @Test func negativeCountsAreZero() throws {
    var statistics = Self.statistics()
    statistics.statistics.misses = -1
    let read = try #require(StatisticsBlock.read(StatisticsBlock.bytes(statistics, number: 1), identifier: 7))
    #expect(read.statistics.statistics.misses == 0)
  }

  /// A torn read combines two publications.
  @Test func changedAndTornBlocksAreRejected() {
    func isBelieved(_ bytes: [UInt8]) -> Bool { StatisticsBlock.read(bytes, identifier: 7) != nil }
    let old = StatisticsBlock.bytes(Self.statistics(1), number: 1)
    let new = StatisticsBlock.bytes(Self.statistics(2), number: 2)
    var random = SeededRandom(2)
    for index in old.indices {
      var changed = old
      changed[index] ^= UInt8(1 << random.below(8))
      #expect(!isBelieved(changed), "\(index)")
    }
    for cut in stride(from: 64, to: StatisticsBlock.size, by: 64) {
      #expect(!isBelieved(Array(new[..<cut] + old[cut...])), "\(cut)")
    }
    for other in [[], Array(old.dropLast()), old + [0], [UInt8](repeating: 0, count: StatisticsBlock.size)] {
      #expect(!isBelieved(other))
    }
  }

  struct Forgery: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let offset: Int
    let bytes: [UInt8]

    init(_ name: String, at offset: Int, _ value: some FixedWidthInteger) {
      testDescription = name
      self.offset = offset
      bytes = withUnsafeBytes(of: value.littleEndian) { Array($0) }
    }
  }

  static let forgeries = [
    Forgery("another version", at: 8, UInt32(2)), Forgery("no process", at: 12, Int32(0)),
    Forgery("a process below 0", at: 12, Int32.min), Forgery("a long name", at: 60, UInt32(65)),
    Forgery("the longest name", at: 60, UInt32.max), Forgery("opened before the clock began", at: 32, Int64(-1)),
    Forgery("published before it was opened", at: 48, Int64(0)), Forgery("a count too great", at: 128, UInt64.max),
    Forgery("a gauge too great", at: 128 + 8 * 20, UInt64(1) << 57),
  ]

  /// The checksum is valid.
  @Test(arguments: forgeries) func impossibleStatisticsAreRejected(_ forgery: Forgery) {
    var bytes = StatisticsBlock.bytes(Self.statistics(), number: 1)
    bytes.replaceSubrange(forgery.offset..<forgery.offset + forgery.bytes.count, with: forgery.bytes)
    #expect(StatisticsBlock.read(bytes, identifier: 7) == nil)
    #expect(StatisticsBlock.read(StatisticsBlock.sealed(bytes), identifier: 7) == nil)
  }
}
