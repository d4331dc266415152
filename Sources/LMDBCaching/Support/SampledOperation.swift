import CPlatform
import Platform

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
