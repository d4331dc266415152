import CPlatform
import Platform
import Synchronization

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
  package var count: UInt64 { counts.reduce(0) { $0.addingClamped($1) } }

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
    for bucket in counts.indices { counts[bucket] = counts[bucket].addingClamped(other.counts[bucket]) }
  }
}

/// A ``LatencyHistogram`` that any thread may add to.
final class LatencyRecorder: Sendable {
  private let counts = AtomicTable(count: LatencyHistogram.bucketCount)

  func record(nanoseconds: Int64) {
    counts.words[LatencyHistogram.bucket(nanoseconds: nanoseconds)].pointee.wrappingAdd(1, ordering: .relaxed)
  }

  /// Records an operation that ends now, if it is timed: see ``SampledOperation/start()``.
  @inline(__always)
  func record(since start: Int64) {
    if start != 0 { record(nanoseconds: SampledOperation.elapsed(since: start)) }
  }

  var histogram: LatencyHistogram {
    LatencyHistogram(
      counts: (0..<LatencyHistogram.bucketCount).map { counts.words[$0].pointee.load(ordering: .relaxed) })
  }
}

/// Records the durations of operations in a store and its memory tiers. Any thread.
final class LatencyRecorders: Sendable {
  let memoryHits = LatencyRecorder()
  let diskReads = LatencyRecorder()
  let writes = LatencyRecorder()
  let loads = LatencyRecorder()
  let commits = LatencyRecorder()

  var latencies: CacheLatencies {
    CacheLatencies(
      memoryHits: memoryHits.histogram, diskReads: diskReads.histogram, writes: writes.histogram,
      loads: loads.histogram, commits: commits.histogram)
  }
}

/// Samples operations for timing: about a thousand per second, thread and kind, or one of 1024 above that. An unsampled
/// one costs a subtraction in thread-local memory.
enum SampledOperation: UInt32 {
  case memoryHit, diskRead, write

  /// Counts an operation of this thread, and returns whether to time it with ``begin()``.
  @inline(__always)
  var isDue: Bool { cplatform_is_sample(rawValue) != 0 }

  /// The start of the operation; 0 to skip timing.
  @inline(__always)
  func start() -> Int64 { isDue ? begin() : 0 }

  func begin() -> Int64 {
    let now = MonotonicClock.nanoseconds
    cplatform_did_sample(rawValue, now)
    return now
  }

  /// Nanoseconds since `start`, without the cost of reading the clock.
  static func elapsed(since start: Int64) -> Int64 { max(0, MonotonicClock.nanoseconds - start - clockCost) }

  /// The minimum of some attempts: the correction must not exceed the real cost.
  private static let clockCost: Int64 = {
    var least = Int64.max
    for _ in 0..<32 {
      let start = MonotonicClock.nanoseconds
      least = min(least, MonotonicClock.nanoseconds - start)
    }
    return max(0, least)
  }()
}
