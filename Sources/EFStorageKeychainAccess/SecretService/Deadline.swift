struct Deadline: Sendable {
  private(set) var instant: ContinuousClock.Instant

  /// `duration` from now, clamped from zero to a day.
  init(after duration: Duration) { instant = ContinuousClock.now + min(max(duration, .zero), .seconds(86_400)) }

  /// The remaining time, rounded up to whole milliseconds, at least 1; `nil` if it has passed.
  var remainingMilliseconds: Int32? {
    let remaining = instant - .now
    guard remaining > .zero else { return nil }
    let (seconds, attoseconds) = remaining.components
    return Int32(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  /// Adds the time spent waiting for a person.
  mutating func postpone(by duration: Duration) { instant += duration }
}
