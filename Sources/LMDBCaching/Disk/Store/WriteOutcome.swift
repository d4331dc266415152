/// How far a write got.
struct WriteOutcome {
  let stamp: UInt64
  /// The position as of which the write is known to be the newest: see ``TransactionTracker``.
  var validated: UInt64 = 0
  /// Set when nothing could be recorded: the write is nowhere but with the observer that made it, and what was on
  /// the disk before is hidden. Or when it is recorded, and did not get as far as it has to before it returns.
  var failure: CacheError?
  var isRecorded = true
  /// Whether the write was not to be made: its condition failed.
  var isRefused = false

  /// To be called when the memory tiers know of the write: it is visible, whether it is committed or not.
  func checkCommitted() throws(CacheError) {
    if let failure, isRecorded { throw failure }
  }
}
