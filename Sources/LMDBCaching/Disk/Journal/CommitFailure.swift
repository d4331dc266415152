struct CommitFailure {
  var error: CacheError
  /// Consecutive failed attempts.
  var attempts: Int
  /// Monotonic nanoseconds; `.max` for never.
  var retryAt: Int64
}
