// Conditional writes (``ExclusiveUse``). All of it requires the lock.

extension Journal {
  /// Whether another process has, or may have, the cache open.
  var isShared: Bool { state.file?.exclusiveUse.isRevoked ?? true }

  /// Returns whether the process may append a write whose condition holds; it must do so next.
  func claimExclusiveUse() -> Bool {
    guard let use = state.file?.exclusiveUse else { return false }
    state.isClaimed = use.claim()
    if !state.isClaimed { settleExclusiveUse() }
    return state.isClaimed
  }

  /// Notes an appended write for which exclusive use was claimed; `segment` is `nil` if it could not be recorded.
  func noteIfConditional(_ segment: JournalSegment?) {
    if !state.isClaimed { return }
    state.isClaimed = false
    state.lastConditional = max(state.lastConditional, segment?.number ?? state.committedNumber)
    state.hasConditional = true
  }

  /// Withdraws a claim for which nothing was appended.
  func endClaim() {
    if !state.isClaimed { return }
    state.isClaimed = false
    settleExclusiveUse()
  }

  /// Lets other processes continue once every conditional write is committed.
  func settleExclusiveUse() {
    if state.hasConditional {
      guard state.lastConditional <= state.committedNumber, state.hidden.isEmpty else { return }
      state.hasConditional = false
    }
    state.file?.exclusiveUse.settle()
  }

  /// Requires the opening lock, and no other process.
  func restoreExclusiveUse() { state.file?.exclusiveUse.restore() }
}
