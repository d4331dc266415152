package enum MonotonicClock {
  /// Nanoseconds since a fixed moment; never decreases.
  package static var nanoseconds: Int64 { RealTimeClock.read(CLOCK_MONOTONIC) }

  /// Sleeps despite signals; returns immediately for 0 or less.
  package static func sleep(nanoseconds: Int64) {
    var rest = interval(nanoseconds)
    var left = timespec()
    while nanosleep(&rest, &left) != 0 && errno == EINTR { rest = left }
  }

  /// Clamps to between 0 and 31 years, which fits all system types.
  static func interval(_ nanoseconds: Int64) -> timespec {
    let clamped = min(max(0, nanoseconds), 1_000_000_000_000_000_000)
    return timespec(tv_sec: Int(clamped / 1_000_000_000), tv_nsec: Int(clamped % 1_000_000_000))
  }
}
