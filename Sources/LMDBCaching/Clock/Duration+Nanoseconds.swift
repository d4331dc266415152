extension Duration {
  /// The duration in nanoseconds, clamped to what 64 bits hold (about 292 years either way).
  package var clampedNanoseconds: Int64 {
    // First, since the components of longer ones, which 64 bits of seconds do not hold, end the process.
    if self >= .nanoseconds(Int64.max) { return .max }
    if self <= .nanoseconds(Int64.min) { return .min }
    let (seconds, attoseconds) = components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}
