/// How often an operation took how long, in buckets that grow with the time: four for each doubling, from 16 ns to 137 s.
///
/// What is read back of a time is off by a quarter at most.
package struct LatencyHistogram: Sendable, Equatable {
  static let bucketCount = 33 * 4
  private static let leastExponent = 4

  /// How often a time of each bucket was met; ``bucketCount`` of them.
  package private(set) var counts: [UInt64]

  package init() { counts = [UInt64](repeating: 0, count: Self.bucketCount) }

  /// - Parameter counts: ``bucketCount`` of them.
  init(counts: [UInt64]) {
    precondition(counts.count == Self.bucketCount)
    self.counts = counts
  }

  /// The bucket of a time. Shorter times than there are buckets for are in the first one, longer ones in the last.
  static func bucket(nanoseconds: Int64) -> Int {
    let time = UInt64(max(1 << Int64(leastExponent), nanoseconds))
    let exponent = 63 - time.leadingZeroBitCount
    let quarter = Int(truncatingIfNeeded: time >> UInt64(exponent - 2)) & 3
    return min((exponent - leastExponent) * 4 + quarter, bucketCount - 1)
  }

  /// Nanoseconds from which on a bucket counts, and how many it covers.
  package static func range(ofBucket bucket: Int) -> (start: Int, length: Int) {
    let length = 1 << (bucket / 4 + leastExponent - 2)
    return ((4 + bucket % 4) * length, length)
  }

  package mutating func record(nanoseconds: Int64) { counts[Self.bucket(nanoseconds: nanoseconds)] &+= 1 }

  /// How many times there are in all, or as many as can be counted.
  package var count: UInt64 { counts.reduce(0, Self.sum) }

  /// The time in nanoseconds that this part (0 … 1) of all does not exceed, or `nil` if there is none.
  package func quantile(_ part: Double) -> Int? {
    let all = count
    if all == 0 { return nil }
    let rank = min(max(part, 0), 1) * Double(all)
    var below = 0.0
    for (bucket, count) in counts.enumerated() where count > 0 {
      let (start, length) = Self.range(ofBucket: bucket)
      // Within a bucket times are taken to be spread evenly.
      if below + Double(count) >= rank { return start + Int((rank - below) / Double(count) * Double(length)) }
      below += Double(count)
    }
    return counts.lastIndex { $0 > 0 }.map { Self.range(ofBucket: $0).start }
  }

  /// The times that have come since it was as `earlier`.
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
