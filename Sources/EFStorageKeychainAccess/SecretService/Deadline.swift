/// The instant at which waiting ends.
struct Deadline: Sendable {
  private(set) var instant: ContinuousClock.Instant

  /// `duration` from now. One that is negative has passed at once; one of more than a day is a day.
  init(after duration: Duration) { instant = ContinuousClock.now + min(max(duration, .zero), .seconds(86_400)) }

  /// What is left, rounded up to a whole number of milliseconds, at least 1, or `nil` if it has passed.
  var remainingMilliseconds: Int32? {
    let remaining = instant - .now
    guard remaining > .zero else { return nil }
    let (seconds, attoseconds) = remaining.components
    return Int32(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  /// Later by what the waiting for a person took.
  mutating func postpone(by duration: Duration) { instant += duration }
}
