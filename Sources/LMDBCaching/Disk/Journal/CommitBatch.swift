/// The state of the journal when a commit began.
struct CommitBatch {
  let segments: [JournalSegment]
  let hidden: HiddenKeys
  /// Whether no other segment holds a write older than `hidden`.
  let isComplete: Bool
  let journal: UInt64?

  /// Whether a removal leaves no trace in the database, so that an older write committed later would reappear.
  var leavesNothing: Bool { !hidden.isEmpty || segments.contains(where: \.leavesNothing) }
}

struct CommitReport {
  /// Whether writes were skipped because another process had since removed everything.
  var isPartial = false
  /// Whether everything committed is now safe from a power cut.
  var isSynchronized = false
  /// Why a required sync failed. The writes are committed.
  var synchronizationFailure: CacheError?
}
