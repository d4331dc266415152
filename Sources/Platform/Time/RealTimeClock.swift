/// The wall clock, which can be set and step back.
package enum RealTimeClock {
  /// Nanoseconds since 1970, negative before; clamped to the years 1677 to 2262.
  package static var nanoseconds: Int64 { read(CLOCK_REALTIME) }

  /// A time of the system's in nanoseconds, clamped.
  package static func nanoseconds(_ time: timespec) -> Int64 {
    let (whole, overflow) = Int64(time.tv_sec).multipliedReportingOverflow(by: 1_000_000_000)
    // Before 1970 the seconds are negative, and the nanoseconds count from there upwards.
    if overflow { return time.tv_sec < 0 ? .min : .max }
    let (sum, carry) = whole.addingReportingOverflow(Int64(time.tv_nsec))
    return carry ? .max : sum
  }

  static func read(_ clock: clockid_t) -> Int64 {
    var time = timespec()
    // Fails for a clock that does not exist, which none of these is.
    clock_gettime(clock, &time)
    return nanoseconds(time)
  }
}
