import Synchronization

// The writer thread's side of the journal. All of it requires the lock.

extension Journal {
  var situation: JournalSituation {
    JournalSituation(
      hasSealed: !state.sealed.isEmpty || state.unreplayed != nil,
      active: state.active.map {
        JournalSituation.Active(
          isEmpty: $0.isEmpty, isQuarterFull: $0.used >= $0.capacity / 4,
          isRequested: state.requestedNumber >= $0.number,
          firstAppend: $0.firstAppend)
      })
  }

  /// The number of the segment with the newest write.
  var lastWritten: Int { state.active.map { $0.isEmpty ? $0.number - 1 : $0.number } ?? state.lastNumber }

  /// Returns the sealed segments to commit, after sealing the active one if there is none.
  func beginCommit() -> CommitBatch {
    if state.sealed.isEmpty { sealActive(state.spare.popLast()) }
    let batch = CommitBatch(segments: state.sealed, journal: state.identifier)
    state.committingNumber = batch.segments.last?.number ?? state.committingNumber
    return batch
  }

  /// The removals of many entries that wait, except those of atomic batches. On a full disk they are committed first.
  var removals: [JournalSegment.PrefixRemoval] { uncommitted.flatMap(\.removals) }

  /// Recycles a committed batch's segments.
  func didCommit(_ batch: CommitBatch, _ report: CommitReport) {
    committingPosition.store(0, ordering: .releasing)
    // A new array, because a copy of the old one, whose memory the batch shares, would grow.
    state.sealed = Array(state.sealed.dropFirst(batch.segments.count))
    for segment in batch.segments {
      state.committedNumber = max(state.committedNumber, segment.number)
      // A deleted journal's segments are freed; the last one frees the map.
      if let map = segment.map, map === state.file?.map {
        segment.reset()
        state.spare.append(segment)
      }
    }
    if let error = report.synchronizationFailure {
      state.unsynchronized = (state.committedNumber, error)
    } else if report.isSynchronized {
      state.unsynchronized = nil
    }
    retryFile()
    if state.hasConditional { settleExclusiveUse() }
    unmarkIfCommitted()
  }

  /// Readers skip the lock while nothing is pending.
  func unmarkIfCommitted() {
    let isEmpty = state.sealed.isEmpty && state.active.map(\.isEmpty) ?? true && state.unreplayed == nil
    if isEmpty { hasPending.store(false, ordering: .releasing) }
  }

  func didNotCommit() { committingPosition.store(0, ordering: .releasing) }

  func didSynchronize() { state.unsynchronized = nil }

  /// Checks what holds between any two operations. Requires the lock.
  func _checkInvariants() {
    precondition(state.committedNumber <= state.committingNumber || state.sealed.isEmpty, "committed before begun")
    precondition(state.committingNumber <= state.lastNumber, "a segment was committed that never was active")
    precondition(
      zip(state.sealed, state.sealed.dropFirst()).allSatisfy { $0.number < $1.number }, "sealed segments out of order")
    precondition(state.sealed.allSatisfy { $0.number > state.committedNumber }, "a committed segment is still sealed")
    if let active = state.active {
      precondition(
        state.sealed.allSatisfy { $0.number < active.number }, "a sealed segment is newer than the active one")
      precondition(active.isEmpty || hasPending.load(ordering: .relaxed), "writes wait that readers do not look for")
      precondition(active.lastStamp <= state.stamps.last, "a stamp from the future")
      active._checkInvariants()
    }
    precondition(state.spare.allSatisfy(\.isEmpty), "a spare segment holds frames")
    if let map = state.file?.map {
      let all = uncommitted + state.spare + state.givingBack
      let own = all.count { $0.map === map }
      precondition(own == JournalFile.segmentCount, "a segment was lost")
    }
  }
}

/// The state of the journal when a commit began.
struct CommitBatch {
  let segments: [JournalSegment]
  let journal: UInt64

  /// Whether a removal leaves no trace in the database, so that an older write committed later would reappear.
  var leavesNothing: Bool { segments.contains(where: \.leavesNothing) }
}

struct CommitReport {
  /// Whether writes were skipped because another process had since removed everything.
  var isPartial = false
  /// Whether everything committed is now safe from a power cut.
  var isSynchronized = false
  /// Why a required sync failed. The writes are committed.
  var synchronizationFailure: CacheError?
}

struct CommitFailure {
  var error: CacheError
  /// Consecutive failed attempts.
  var attempts: Int
  /// Monotonic nanoseconds; `.max` for never.
  var retryAt: Int64
}
