extension Duration {
  /// Clamped to 64 bits (about 292 years either way).
  package var clampedNanoseconds: Int64 {
    // Checked first: the components of durations beyond 64 bits of seconds trap.
    if self >= .nanoseconds(Int64.max) { return .max }
    if self <= .nanoseconds(Int64.min) { return .min }
    let (seconds, attoseconds) = components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }

  /// A fraction, from 0 to 1, of a duration that is not negative. (Multiplication traps on overflow by rounding.)
  func share(_ share: Double) -> Duration {
    let length = clampedNanoseconds
    return .nanoseconds(min(length, Int64(clamping: Int128(Double(length) * share))))
  }
}
