/// How often which value occurred, in buckets that grow with the values, so that none is off by more than 0.4 %.
///
/// Values below 256 have a bucket each. Above, every power of two is cut into 128 equal buckets, and what is read
/// back is the middle of one. The size is fixed, and recording is a few instructions.
struct Histogram: Sendable {
  private static let subBucketBits = 7
  private static let subBuckets = 1 << subBucketBits
  /// More counts as this: about 18 minutes, in nanoseconds.
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

  /// The least value that is not exceeded by this part (0 … 1) of what was recorded, or `nil` if nothing was.
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

  /// The octave above the linear part, times its buckets, plus the bits that follow the leading one.
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
