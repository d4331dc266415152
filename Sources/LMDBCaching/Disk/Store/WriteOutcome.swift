struct WriteOutcome {
  let stamp: UInt64
  /// The newest position at which the write is known to be current (``TransactionTracker``).
  var validated: UInt64 = 0
  /// If not recorded: only the observer has the value, and the disk's older one is hidden. If recorded: the error of
  /// the required commit.
  var failure: CacheError?
  var isRecorded = true
  /// Whether the condition failed, so that nothing was written.
  var isRefused = false

  /// Call after the memory tiers have the write: it is visible even if its commit failed.
  func checkCommitted() throws(CacheError) {
    if let failure, isRecorded { throw failure }
  }
}
