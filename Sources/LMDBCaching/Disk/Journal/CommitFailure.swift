/// Why the last commit failed, and when it is tried again.
struct CommitFailure {
  var error: CacheError
  /// How many attempts in a row have failed.
  var attempts: Int
  /// On the monotonic clock, in nanoseconds; `.max` for never.
  var retryAt: Int64
}
