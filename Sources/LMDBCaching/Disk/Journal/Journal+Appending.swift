import Platform
import Synchronization

/// Where a write went.
struct JournalAppend {
  /// The segment's number; 0 if the write could not be recorded.
  let number: Int
  /// Whether it has to be committed before its caller goes on: it is in no file.
  let isLarge: Bool
  /// Why it could not be recorded.
  var failure: CacheError?
  /// Whether it was not to be made: its condition failed.
  var isRefused = false
}

extension Journal {
  /// Appends what `body` puts into the segment it gets: `size` bytes of frames at most.
  ///
  /// `body` runs with the lock held. When nothing can be recorded, since the disk is full, say, it gets no segment, and
  /// what it returns as its last stamp hides what is on the disk in `scope`; without a scope the error is thrown instead.
  /// `condition` is looked at just before, with the lock held: if it fails, nothing is written.
  @inline(__always)
  func append(
    size: Int, hiding scope: HiddenKeys.Scope?, if condition: (() -> Bool)? = nil,
    large: (() -> JournalSegment)? = nil, body: (JournalSegment?) -> UInt64
  ) throws(CacheError) -> JournalAppend {
    lock.lock()
    if state.gate.isClosed {
      lock.unlock()
      throw .closed
    }
    let segment: JournalSegment
    if let active = state.active, active.free >= size {
      segment = active
    } else {
      do throws(CacheError) {
        segment = try segmentWithRoom(for: size, large)
      } catch {
        defer { lock.unlock() }
        return try hide(error, scope, condition, body)
      }
    }
    if let condition, !condition() {
      lock.unlock()
      return JournalAppend(number: 0, isLarge: false, isRefused: true)
    }
    let wasEmpty = segment.isEmpty
    if wasEmpty {
      segment.firstAppend = clock.monotonic
      markPending()
    }
    _ = body(segment)
    if state.unrecorded != nil { state.unrecorded = nil }
    if condition != nil { noteIfConditional(segment) }
    let isLarge = !segment.isMapped
    if wasEmpty || (segment.used >= segment.capacity / 4 && segment.used - size < segment.capacity / 4) {
      lock.signalAll(.work)
    }
    let number = segment.number
    lock.unlock()
    return JournalAppend(number: number, isLarge: isLarge)
  }

  /// Notes a write that is with the caller only. With the lock held.
  @inline(never)
  private func hide(
    _ error: CacheError, _ scope: HiddenKeys.Scope?, _ condition: (() -> Bool)?, _ body: (JournalSegment?) -> UInt64
  ) throws(CacheError) -> JournalAppend {
    if let condition, !condition() { return JournalAppend(number: 0, isLarge: false, isRefused: true) }
    guard let scope, error.code != .closed, state.hidden.canInsert(scope) else {
      endClaim()
      throw error
    }
    markPending()
    state.hidden.insert(scope, stamp: body(nil))
    state.unrecorded = (error, clock.monotonic)
    if condition != nil { noteIfConditional(nil) }
    // The writer thread may have got over the failure already, and sleep.
    lock.signalAll(.work)
    return JournalAppend(number: 0, isLarge: false, failure: error)
  }

  /// The same for a write that failed before it came here.
  func hideUnrecorded(
    _ error: CacheError, _ scope: HiddenKeys.Scope, if condition: (() -> Bool)?, _ body: (JournalSegment?) -> UInt64
  ) throws(CacheError) -> JournalAppend {
    try lock.withLock { () throws(CacheError) in
      if state.gate.isClosed { throw .closed }
      return try hide(error, scope, condition, body)
    }
  }

  /// A segment with `size` bytes free: the active one, or the next one after sealing that, or for what is larger
  /// than any journal segment one of its own. With the lock held; waits for the writer thread.
  @inline(never)
  private func segmentWithRoom(for size: Int, _ large: (() -> JournalSegment)?) throws(CacheError) -> JournalSegment {
    try makeFileIfNeeded()
    while true {
      if state.gate.isClosed { throw .closed }
      let active = state.active!
      if active.free >= size || hasBlocks(active, for: size) { return active }
      if !state.spare.isEmpty {
        sealActive()
        lock.signalAll(.work)
        let next = state.active!
        if next.free >= size || hasBlocks(next, for: size) { return next }
        // Sealed at once: its write waits for the commit, so it needs no journal.
        let own = large?() ?? JournalSegment(capacity: size)
        state.lastNumber += 1
        own.number = state.lastNumber
        state.active!.number = own.number + 1
        state.lastNumber += 1
        own.firstAppend = clock.monotonic
        state.sealed.append(own)
        state.requestedNumber = max(state.requestedNumber, own.number)
        return own
      }
      if let failure = state.gate.failure { throw failure.error }
      if isWriterThread {
        throw CacheError(.busy, "The journal is full, and this is the thread that empties it. Write from another one.")
      }
      lock.signalAll(.work)
      lock.wait(for: .progress)
    }
  }

  /// Notes that a value is in memory only, for good: the next flush says so.
  /// Why something that was written since the last flush could not be recorded, if so it is.
  var unflushable: CacheError? { lock.withLock { state.unflushable } }

  func noteUnrecorded(_ error: CacheError) { lock.withLock { state.unflushable = error } }

  /// Has ``unrecorded`` tell of a value that never came here: it could not be archived, say. With the lock held.
  func noteNotRecorded(_ error: CacheError) { state.unrecorded = (error, clock.monotonic) }

  /// Why the latest write is in memory only, if it was made within a minute. With the lock held.
  var unrecorded: CacheError? {
    guard let (error, time) = state.unrecorded, clock.monotonic < time.addingClamped(60_000_000_000) else { return nil }
    return error
  }

  // MARK: Waiting

  /// Whether this is the writer thread, which must not wait for itself.
  var isWriterThread: Bool { writerThread.load(ordering: .relaxed) == PlatformThread.current }

  /// Commits everything written so far and returns when it is done. On the writer thread it does nothing.
  ///
  /// - Parameter includesHidden: Whether to wait until what is hidden is removed from the disk, too: until then the death
  ///   of the process brings it back.
  func commitPending(includesHidden: Bool = false) throws(CacheError) {
    guard hasPending.load(ordering: .acquiring), !isWriterThread else { return }
    let number = lock.withLock { lastWritten }
    try waitForCommit(of: number, includesHidden: includesHidden)
  }

  /// The same with what is hidden, and tells once of writes that can never be committed.
  ///
  /// - Throws: also why a write since the last flush could not be recorded.
  func flush() throws(CacheError) {
    try commitPending(includesHidden: true)
    if let failure = takeUnrecorded("is in memory only") { throw failure }
  }

  /// Why something that was written since the last call could not be recorded, if so it is.
  ///
  /// - Parameter fate: What became of it.
  func takeUnrecorded(_ fate: String) -> CacheError? {
    let failure = lock.withLock {
      state.unrecorded = nil
      return state.unflushable.take()
    }
    return failure.map {
      CacheError(
        $0.code,
        "Something written since the last flush could not be recorded, and \(fate): \($0.message) Set it again when the "
          + "cause is gone.", underlying: $0)
    }
  }

  /// Everything that could not be recorded was removed.
  func forgetUnrecorded() { lock.withLock { (state.unflushable, state.unrecorded) = (nil, nil) } }

  /// Makes everything written so far be committed at once. With the lock held.
  func requestCommit() {
    state.requestedNumber = max(state.requestedNumber, lastWritten)
    lock.signalAll(.work)
  }

  /// Waits until the segment `number` is committed, and makes that happen at once.
  ///
  /// - Parameter includesHidden: See ``commitPending(includesHidden:)``.
  /// - Throws: `.notCommitted` when an attempt fails: the write is kept, and is tried again. The same on the writer thread,
  ///   which commits when what it is at has ended. `.closed`.
  func waitForCommit(of number: Int, includesHidden: Bool = false) throws(CacheError) {
    // A value's end may write, and a value that is evicted ends here.
    if isWriterThread {
      throw CacheError(
        .notCommitted,
        "The write is visible and kept, but this is the thread that commits it, which it does next. Write from another "
          + "thread to wait for the commit.")
    }
    lock.lock()
    defer { lock.unlock() }
    let attempts = state.gate.failure?.attempts ?? 0
    if state.committedNumber < number, state.requestedNumber < number {
      state.requestedNumber = number
      lock.signalAll(.work)
    }
    while state.committedNumber < number || includesHidden && !state.hidden.isEmpty {
      if state.gate.isEnded { throw .closed }
      // Told at once while the writer thread pauses between attempts, and after an attempt that failed.
      if let failure = state.gate.failure, failure.attempts > attempts || clock.monotonic < failure.retryAt {
        throw CacheError(
          .notCommitted,
          "The write is visible and kept, but its commit failed so far: \(failure.error.message) It is tried again.",
          underlying: failure.error)
      }
      lock.wait(for: .progress)
    }
    if let unsynchronized = state.unsynchronized, number <= unsynchronized.number {
      throw CacheError(
        .notCommitted,
        "The write is committed, but not safe from a power cut yet: \(unsynchronized.error.message) It is tried again.",
        underlying: unsynchronized.error)
    }
  }
}
