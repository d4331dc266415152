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
      #expect(read.statistics == statistics && read.number == seed)
    }
  }

  @Test(arguments: ["", String(repeating: "é", count: 32), String(repeating: "é", count: 33), "👩‍👩‍👧‍👦👩‍👩‍👧‍👦👩‍👩‍👧‍👦"])
  func aNameIsCutBetweenCharacters(_ name: String) throws {
    var statistics = Self.statistics()
    statistics.name = name
    let read = try #require(StatisticsBlock.read(StatisticsBlock.bytes(statistics, number: 1), identifier: 7))
      .statistics
    #expect(name.hasPrefix(read.name) && read.name.utf8.count <= 64 && (read.name == name || name.utf8.count > 64))
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

  static let forgeries: [(offset: Int, value: UInt64, size: Int)] = [
    // Another version; no process, and a negative one; names that are too long.
    (8, 2, 4), (12, 0, 4), (12, 1 << 31, 4), (60, 65, 4), (60, 0xFFFF_FFFF, 4),
    // Opened before the clock began; published before that; a count and a gauge that are too great.
    (32, .max, 8), (48, 0, 8), (128, .max, 8), (128 + 8 * 20, 1 << 57, 8),
  ]

  /// The checksum is valid.
  @Test(arguments: forgeries.indices) func impossibleStatisticsAreRejected(_ index: Int) {
    let (offset, value, size) = Self.forgeries[index]
    var bytes = StatisticsBlock.bytes(Self.statistics(), number: 1)
    withUnsafeBytes(of: value.littleEndian) { bytes.replaceSubrange(offset..<offset + size, with: $0.prefix(size)) }
    #expect(StatisticsBlock.read(bytes, identifier: 7) == nil)
    #expect(StatisticsBlock.read(StatisticsBlock.sealed(bytes), identifier: 7) == nil)
  }
}
