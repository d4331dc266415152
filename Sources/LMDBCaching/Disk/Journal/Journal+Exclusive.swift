// Writes under a condition. With the lock held; see ``ExclusiveUse``.

extension Journal {
  /// Whether another process has the cache open, or may have.
  var isShared: Bool { state.file?.exclusiveUse.isRevoked ?? true }

  /// Returns whether the process may append a write that it has found to be right; it does so next.
  func claimExclusiveUse() -> Bool {
    guard let use = state.file?.exclusiveUse else { return false }
    state.isClaimed = use.claim()
    if !state.isClaimed { settleExclusiveUse() }
    return state.isClaimed
  }

  /// Notes a write that was appended, if exclusive use was claimed for it.
  ///
  /// - Parameter segment: Where it is; `nil` if it could not be recorded.
  func noteIfConditional(_ segment: JournalSegment?) {
    if !state.isClaimed { return }
    state.isClaimed = false
    state.lastConditional = max(state.lastConditional, segment?.number ?? state.committedNumber)
    state.hasConditional = true
  }

  /// Takes a claim back for which nothing was appended: nobody has to wait for it.
  func endClaim() {
    if !state.isClaimed { return }
    state.isClaimed = false
    settleExclusiveUse()
  }

  /// Lets other processes go on if every conditional write is committed.
  func settleExclusiveUse() {
    if state.hasConditional {
      guard state.lastConditional <= state.committedNumber, state.hidden.isEmpty else { return }
      state.hasConditional = false
    }
    state.file?.exclusiveUse.settle()
  }

  /// This process is the only one that has the cache open: with the opening lock held.
  func restoreExclusiveUse() { state.file?.exclusiveUse.restore() }
}
