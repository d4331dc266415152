/// A fixed-size histogram with growing buckets and a relative error of at most 0.4 %.
///
/// Values below 256 have a bucket each. Larger powers of two are divided into 128 equal buckets, read back as their
/// middle. Recording takes a few instructions.
struct Histogram: Sendable {
  private static let subBucketBits = 7
  private static let subBuckets = 1 << subBucketBits
  /// The limit for values: about 18 minutes, in nanoseconds.
  static let greatest = UInt64(1) << 40 - 1

  private var counts: [Int]
  private(set) var count = 0
  private(set) var maximum: UInt64 = 0

  init() { counts = Array(repeating: 0, count: Self.bucket(Self.greatest) + 1) }

  mutating func record(_ value: UInt64) {
    counts[Self.bucket(min(value, Self.greatest))] += 1
    count += 1
    maximum = max(maximum, value)
  }

  mutating func add(_ other: Histogram) {
    for bucket in counts.indices { counts[bucket] += other.counts[bucket] }
    count += other.count
    maximum = max(maximum, other.maximum)
  }

  /// The smallest value not exceeded by this fraction (0 … 1) of the records; `nil` without records.
  func quantile(_ part: Double) -> UInt64? {
    if count == 0 { return nil }
    let rank = min(count, max(1, Int((part * Double(count)).rounded(.up))))
    var seen = 0
    for (bucket, occurrences) in counts.enumerated() {
      seen += occurrences
      if seen >= rank { return min(Self.middle(ofBucket: bucket), maximum) }
    }
    return maximum
  }

  /// The octave above the linear part, times its buckets, plus the bits after the leading one.
  private static func bucket(_ value: UInt64) -> Int {
    let shift = max(0, UInt64.bitWidth - value.leadingZeroBitCount - subBucketBits - 1)
    return shift * subBuckets + Int(truncatingIfNeeded: value >> UInt64(shift))
  }

  private static func middle(ofBucket bucket: Int) -> UInt64 {
    let shift = max(0, bucket / subBuckets - 1)
    let least = UInt64(bucket - shift * subBuckets) << UInt64(shift)
    return least + (UInt64(1) << UInt64(shift)) / 2
  }
}
