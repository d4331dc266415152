import Synchronization

/// A ``LatencyHistogram`` that any thread may add to.
// Unchecked: the pointer leads to atomics and lives as long as this.
final class LatencyRecorder: @unchecked Sendable {
  private let counts: UnsafeMutablePointer<Atomic<UInt64>>

  init() {
    counts = .allocate(capacity: LatencyHistogram.bucketCount)
    for bucket in 0..<LatencyHistogram.bucketCount { (counts + bucket).initialize(to: Atomic(0)) }
  }

  deinit {
    counts.deinitialize(count: LatencyHistogram.bucketCount)
    counts.deallocate()
  }

  func record(nanoseconds: Int64) {
    counts[LatencyHistogram.bucket(nanoseconds: nanoseconds)].wrappingAdd(1, ordering: .relaxed)
  }

  /// Records an operation that ends now, if it is timed: see ``SampledOperation/start()``.
  @inline(__always)
  func record(since start: Int64) {
    if start != 0 { record(nanoseconds: SampledOperation.elapsed(since: start)) }
  }

  var histogram: LatencyHistogram {
    LatencyHistogram(counts: (0..<LatencyHistogram.bucketCount).map { counts[$0].load(ordering: .relaxed) })
  }
}
