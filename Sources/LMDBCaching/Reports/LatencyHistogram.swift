/// Counts durations in exponential buckets: four for each doubling, from 16 ns to 137 s. Reported durations are off by
/// up to a quarter.
package struct LatencyHistogram: Sendable, Equatable {
  static let bucketCount = 33 * 4
  private static let leastExponent = 4

  /// ``bucketCount`` of them.
  package private(set) var counts: [UInt64]

  package init() { counts = [UInt64](repeating: 0, count: Self.bucketCount) }

  init(counts: [UInt64]) {
    precondition(counts.count == Self.bucketCount)
    self.counts = counts
  }

  /// Durations out of range are in the first or last bucket.
  static func bucket(nanoseconds: Int64) -> Int {
    let time = UInt64(max(1 << Int64(leastExponent), nanoseconds))
    let exponent = 63 - time.leadingZeroBitCount
    let quarter = Int(truncatingIfNeeded: time >> UInt64(exponent - 2)) & 3
    return min((exponent - leastExponent) * 4 + quarter, bucketCount - 1)
  }

  /// The first nanosecond of a bucket, and its width.
  package static func range(ofBucket bucket: Int) -> (start: Int, length: Int) {
    let length = 1 << (bucket / 4 + leastExponent - 2)
    return ((4 + bucket % 4) * length, length)
  }

  package mutating func record(nanoseconds: Int64) { counts[Self.bucket(nanoseconds: nanoseconds)] &+= 1 }

  /// Clamped on overflow.
  package var count: UInt64 { counts.reduce(0, Self.sum) }

  /// The duration in nanoseconds that this fraction (0 … 1) does not exceed; `nil` if empty.
  package func quantile(_ part: Double) -> Int? {
    let all = count
    if all == 0 { return nil }
    let rank = min(max(part, 0), 1) * Double(all)
    var below = 0.0
    for (bucket, count) in counts.enumerated() where count > 0 {
      let (start, length) = Self.range(ofBucket: bucket)
      // Assumes an even spread within a bucket.
      if below + Double(count) >= rank { return start + Int((rank - below) / Double(count) * Double(length)) }
      below += Double(count)
    }
    return counts.lastIndex { $0 > 0 }.map { Self.range(ofBucket: $0).start }
  }

  package func since(_ earlier: LatencyHistogram) -> LatencyHistogram {
    LatencyHistogram(counts: zip(counts, earlier.counts).map { $0 > $1 ? $0 - $1 : 0 })
  }

  package mutating func add(_ other: LatencyHistogram) {
    for bucket in counts.indices { counts[bucket] = Self.sum(counts[bucket], other.counts[bucket]) }
  }

  private static func sum(_ first: UInt64, _ second: UInt64) -> UInt64 {
    let (sum, overflow) = first.addingReportingOverflow(second)
    return overflow ? .max : sum
  }
}
