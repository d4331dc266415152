/// What one commit is about, as of the moment it was begun.
struct CommitBatch {
  /// Oldest first.
  let segments: [JournalSegment]
  let unrecorded: UnrecordedKeys
  /// Whether no other segment holds a write that is older than ``unrecorded``.
  let isComplete: Bool
  let journal: UInt64?
}

/// What came of it.
struct CommitReport {
  /// Whether writes were left out, since another process removed everything after they were made.
  var isPartial = false
}
