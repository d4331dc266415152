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
    clock_gettime(clock, &time)
    return nanoseconds(time)
  }
}
