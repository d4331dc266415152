import CPlatform
import Platform

/// Operations of which some are timed, each kind for itself: of one thread about a thousand a second, and where there are
/// more, one of 1024.
///
/// An operation that is not timed costs a subtraction in the thread's own memory.
enum SampledOperation: UInt32 {
  case memoryHit, diskRead, write

  /// Counts an operation of this thread. Whether it is to be timed: then ``begin()`` has to be called.
  @inline(__always)
  var isDue: Bool { cplatform_is_sample(rawValue) != 0 }

  /// When the operation begins; 0: it is not to be timed.
  @inline(__always)
  func start() -> Int64 { isDue ? begin() : 0 }

  /// When an operation begins that is due.
  func begin() -> Int64 {
    let now = MonotonicClock.nanoseconds
    cplatform_did_sample(rawValue, now)
    return now
  }

  /// Nanoseconds since `start`, without what reading the clock takes.
  static func elapsed(since start: Int64) -> Int64 { max(0, MonotonicClock.nanoseconds - start - clockCost) }

  /// The least of some attempts: what a time is taken off must not be more than what is in it.
  private static let clockCost: Int64 = {
    var least = Int64.max
    for _ in 0..<32 {
      let start = MonotonicClock.nanoseconds
      least = min(least, MonotonicClock.nanoseconds - start)
    }
    return max(0, least)
  }()
}
