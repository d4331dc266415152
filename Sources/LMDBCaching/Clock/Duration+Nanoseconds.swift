extension Duration {
  /// The duration in nanoseconds, clamped to what 64 bits hold (about 292 years either way).
  package var clampedNanoseconds: Int64 {
    // First, since the components of longer ones, which 64 bits of seconds do not hold, end the process.
    if self >= .nanoseconds(Int64.max) { return .max }
    if self <= .nanoseconds(Int64.min) { return .min }
    let (seconds, attoseconds) = components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }

  /// A part of a duration that is not negative. (The product with a number ends the process where it is rounded to more than
  /// a duration can be.)
  ///
  /// - Parameter share: From 0 to 1.
  func share(_ share: Double) -> Duration {
    let length = clampedNanoseconds
    return .nanoseconds(min(length, Int64(clamping: Int128(Double(length) * share))))
  }
}
