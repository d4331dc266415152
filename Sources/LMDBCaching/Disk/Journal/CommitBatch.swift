/// What one commit is about, as of the moment it was begun.
struct CommitBatch {
  /// Oldest first.
  let segments: [JournalSegment]
  let hidden: HiddenKeys
  /// What ``hidden``, these segments and the active one remove of many entries, unless that is part of an atomic batch.
  let removals: HiddenKeys
  /// Whether no other segment holds a write that is older than ``hidden``.
  let isComplete: Bool
  /// The journal's identifier, or `nil` before its file is made.
  let journal: UInt64?

  /// Whether something is removed so that nothing in the database tells of it: an older write that is committed later would
  /// be there again.
  var leavesNothing: Bool { !hidden.isEmpty || segments.contains(where: \.leavesNothing) }
}

/// What came of it.
struct CommitReport {
  /// Whether writes were left out, since another process removed everything after they were made.
  var isPartial = false
  /// Whether everything committed is safe from a power cut now.
  var isSynchronized = false
  /// Why what had to be synchronized before the writes return is not. They are committed.
  var synchronizationFailure: CacheError?
}
