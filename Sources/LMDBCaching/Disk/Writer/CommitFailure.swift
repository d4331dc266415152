/// Why the last commit failed, and when it is tried again.
struct CommitFailure {
  var error: CacheError
  var attempts: Int
  /// On the monotonic clock, in nanoseconds.
  var retryAt: Int64
}
