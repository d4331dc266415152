package enum MonotonicClock {
  /// Nanoseconds since a fixed moment; never decreases.
  package static var nanoseconds: Int64 { RealTimeClock.read(CLOCK_MONOTONIC) }

  /// Sleeps despite signals; returns immediately for 0 or less.
  package static func sleep(nanoseconds: Int64) {
    var rest = interval(nanoseconds)
    var left = timespec()
    while unsafe nanosleep(&rest, &left) != 0 && errno == EINTR { rest = left }
  }

  /// Clamps to between 0 and 31 years, which fits all system types.
  static func interval(_ nanoseconds: Int64) -> timespec {
    let clamped = min(max(0, nanoseconds), 1_000_000_000_000_000_000)
    return timespec(tv_sec: Int(clamped / 1_000_000_000), tv_nsec: Int(clamped % 1_000_000_000))
  }
}

/// The wall clock, which can be set and step back.
package enum RealTimeClock {
  /// Nanoseconds since 1970, negative before; clamped to the years 1677 to 2262.
  package static var nanoseconds: Int64 { read(CLOCK_REALTIME) }

  /// A system time in nanoseconds, clamped.
  package static func nanoseconds(_ time: timespec) -> Int64 {
    let (whole, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    // Before 1970 seconds are negative, and nanoseconds count up from there.
    if overflow { return time.tv_sec < 0 ? .min : .max }
    let (sum, carry) = whole.addingReportingOverflow(Int64(time.tv_nsec))
    return carry ? .max : sum
  }

  static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    // Fails only for an unknown clock.
    unsafe clock_gettime(clock, &time)
    return nanoseconds(time)
  }
}

/// A bounded wait for another thread or process: yields first, then sleeps ever longer, up to a millisecond. For slow
/// paths only.
package struct Backoff: Sendable {
  private static let longest: Int64 = 1_000_000

  /// `nil` for no limit.
  private let deadline: Int64?
  private var round = 0

  /// - Parameter limit: Nanoseconds until ``pause()`` returns `false`; `nil` for no limit.
  package init(limit: Int64?) { deadline = limit.map { MonotonicClock.nanoseconds.addingClamped(max(0, $0)) } }

  /// Waits a little. Returns whether time is left.
  package mutating func pause() -> Bool {
    var rest = Int64.max
    if let deadline {
      rest = deadline - MonotonicClock.nanoseconds
      if rest <= 0 { return false }
    }
    if round < 32 {
      sched_yield()
    } else {
      MonotonicClock.sleep(nanoseconds: min(Self.longest, 20_000 << Int64(min(round - 32, 6)), rest))
    }
    round += 1
    return true
  }
}
