import Platform
import Synchronization

struct JournalAppend {
  /// The segment's number; 0 if the write could not be recorded.
  let number: Int
  /// Whether the write is in no file, so that its caller must wait for the commit.
  let isLarge: Bool
  var failure: CacheError?
  /// Whether the condition failed, so that nothing was written.
  var isRefused = false
}

extension Journal {
  /// Appends what `body` puts into its segment, at most `size` bytes of frames.
  ///
  /// `body` and `condition`, which is evaluated just before, run with the lock held. If nothing can be recorded (on a
  /// full disk, for example), `body` gets no segment, and the stamp it returns hides the disk's values in `scope`;
  /// without a scope the error is thrown.
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

  /// Notes a write that only the caller has. Requires the lock.
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
    // The writer thread may have recovered from the failure and be asleep.
    lock.signalAll(.work)
    return JournalAppend(number: 0, isLarge: false, failure: error)
  }

  /// Hides the disk's value for a write that failed before it reached the journal.
  func hideUnrecorded(
    _ error: CacheError, _ scope: HiddenKeys.Scope, if condition: (() -> Bool)?, _ body: (JournalSegment?) -> UInt64
  ) throws(CacheError) -> JournalAppend {
    try lock.withLock { () throws(CacheError) in
      if state.gate.isClosed { throw .closed }
      return try hide(error, scope, condition, body)
    }
  }

  /// Returns a segment with `size` bytes free: the active one, the next one after sealing, or a separate one for a
  /// larger write. Requires the lock; waits for the writer thread.
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

  /// Why a write since the last flush could not be recorded, if any; the next flush throws it.
  var unflushable: CacheError? { lock.withLock { state.unflushable } }

  func noteUnrecorded(_ error: CacheError) { lock.withLock { state.unflushable = error } }

  /// Sets ``unrecorded`` for a value that never reached the journal. Requires the lock.
  func noteNotRecorded(_ error: CacheError) { state.unrecorded = (error, clock.monotonic) }

  /// Why the latest write is only in memory, for a minute. Requires the lock.
  var unrecorded: CacheError? {
    guard let (error, time) = state.unrecorded, clock.monotonic < time.addingClamped(60_000_000_000) else { return nil }
    return error
  }

  // MARK: Waiting

  /// Whether this is the writer thread, which must not wait for itself.
  var isWriterThread: Bool { writerThread.load(ordering: .relaxed) == PlatformThread.current }

  /// Commits everything written so far. Does nothing on the writer thread.
  ///
  /// - Parameter includesHidden: Also waits until hidden values leave the disk; until then a crash restores them.
  func commitPending(includesHidden: Bool = false) throws(CacheError) {
    guard hasPending.load(ordering: .acquiring), !isWriterThread else { return }
    let number = lock.withLock { lastWritten }
    try waitForCommit(of: number, includesHidden: includesHidden)
  }

  /// Commits everything, hidden keys included.
  ///
  /// - Throws: Also the failure to record a write since the last flush, once.
  func flush() throws(CacheError) {
    try commitPending(includesHidden: true)
    if let failure = takeUnrecorded("is in memory only") { throw failure }
  }

  /// Why a write since the last call could not be recorded, if any, with its fate in the message.
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

  func forgetUnrecorded() { lock.withLock { state.unrecorded = nil } }

  /// Requests an immediate commit of everything written so far. Requires the lock.
  func requestCommit() {
    state.requestedNumber = max(state.requestedNumber, lastWritten)
    lock.signalAll(.work)
  }

  /// Commits the segment `number` at once and waits for it.
  ///
  /// - Throws: `.notCommitted` if an attempt fails, or on the writer thread; the write is kept and retried. `.closed`.
  func waitForCommit(of number: Int, includesHidden: Bool = false) throws(CacheError) {
    // Releasing a value may write, and the writer thread releases evicted values.
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
      // Throws at once while the writer thread pauses between attempts, and after a failed attempt.
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

extension Journal {
  /// The newest uncommitted write of `key`. Requires the lock.
  ///
  /// - Parameter position: The newest transaction of another process, loaded before.
  func lookup(_ key: CacheKey, position: UInt64) -> JournalSegment.Lookup {
    let lookup = lookupSegments(key, position)
    if state.hidden.isEmpty { return lookup }
    let hidden = state.hidden.stamp(of: key.utf8)
    if hidden == 0 { return lookup }
    if case .found(let frame) = lookup, frame.stamp > hidden { return lookup }
    return .hidden(hidden)
  }

  @inline(__always)
  private func lookupSegments(_ key: CacheKey, _ position: UInt64) -> JournalSegment.Lookup {
    let hash = key.hash
    if let active = state.active {
      let lookup = active.lookup(key.utf8, hash: hash)
      if case .unknown = lookup {} else { return lookup }
    }
    if state.sealed.isEmpty { return .unknown }
    // If another process committed after the segments being committed, they are in the database, though the writer
    // thread has not said so yet, and the database may be newer.
    let committing = committingPosition.load(ordering: .acquiring)
    let committed = committing != 0 && position > committing ? state.committingNumber : 0
    for segment in state.sealed.reversed() where segment.number > committed {
      let lookup = segment.lookup(key.utf8, hash: hash)
      if case .unknown = lookup {} else { return lookup }
    }
    return .unknown
  }

  func waits(_ key: CacheKey, position: UInt64) -> Bool {
    if case .unknown = lookup(key, position: position) { false } else { true }
  }

  /// Whether an uncommitted removal by tag removed an entry after it was written.
  func isRemoved(_ tags: EntryTags, writtenAt stamp: UInt64) -> Bool {
    guard tagRemovals.words.latest(of: tags) > stamp, hasPending.load(ordering: .acquiring) else { return false }
    return lock.withLock {
      if tags.hashes.contains(where: { state.hidden.tags[$0] ?? 0 > stamp }) { return true }
      func isRemoved(in segment: JournalSegment) -> Bool {
        !segment.tagRemovals.isEmpty && tags.hashes.contains { segment.tagRemovals[$0] ?? 0 > stamp }
      }
      return state.active.map(isRemoved) ?? false || state.sealed.contains(where: isRemoved)
    }
  }

  var hiddenKeys: HiddenKeys? {
    guard hasPending.load(ordering: .acquiring) else { return nil }
    return lock.withLock { state.hidden.isEmpty ? nil : state.hidden }
  }

  /// Whether only the memory tier has the newest value, because it could not be recorded.
  func isHidden(_ key: CacheKey, position: UInt64) -> Bool {
    guard hasPending.load(ordering: .acquiring) else { return false }
    return lock.withLock {
      guard !state.hidden.isEmpty, state.hidden.stamp(of: key.utf8) != 0 else { return false }
      if case .found = lookup(key, position: position) { return false }
      return true
    }
  }
}
