import Platform
import Synchronization

extension Journal {
  /// Appends what `body` puts into its segment, at most `size` bytes of frames.
  ///
  /// `body` and `condition`, which is evaluated just before, run with the lock held.
  ///
  /// - Parameter isOfMany: Whether the write removes many entries, for which there is room while commits fail.
  /// - Returns: The segment's number, and whether the write has it alone and so must wait for the commit. `nil` if the
  ///   condition failed, and nothing was written.
  /// - Throws: The error of the commits, if they fail and no segment has room. Nothing is written.
  @inline(__always)
  func append(
    size: Int, isOfMany: Bool = false, if condition: (() -> Bool)? = nil, large: (() -> JournalSegment)? = nil,
    body: (JournalSegment) -> Void
  ) throws(CacheError) -> (number: Int, isAlone: Bool)? {
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
        segment = try segmentWithRoom(for: size, isOfMany: isOfMany, large)
      } catch {
        lock.unlock()
        throw error
      }
    }
    if let condition, !condition() {
      lock.unlock()
      return nil
    }
    let wasEmpty = segment.isEmpty
    if wasEmpty {
      segment.firstAppend = clock.monotonic
      markPending()
    }
    body(segment)
    if condition != nil { noteIfConditional(segment) }
    if wasEmpty || (segment.used >= segment.capacity / 4 && segment.used - size < segment.capacity / 4) {
      lock.signalAll(.work)
    }
    let place = (segment.number, segment.isAlone)
    lock.unlock()
    return place
  }

  /// Returns a segment with `size` bytes free: the active one, the next one after sealing, or a separate one for a
  /// larger write. Requires the lock; waits for the writer thread.
  @inline(never)
  private func segmentWithRoom(
    for size: Int, isOfMany: Bool, _ large: (() -> JournalSegment)?
  ) throws(CacheError) -> JournalSegment {
    makeFileIfNeeded()
    while true {
      if state.gate.isClosed { throw .closed }
      if let active = state.active, hasRoom(active, for: size) { return active }
      if let next = nextSegment(for: size) {
        sealActive(next)
        lock.signalAll(.work)
        return next
      }
      if mayBeAlone(size, isOfMany) {
        sealActive(nil)
        // Sealed at once: its write waits for the commit, so it needs no journal.
        let own = large?() ?? JournalSegment(capacity: size, isAlone: true)
        state.lastNumber += 1
        own.number = state.lastNumber
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

  /// A spare segment of the file, or anonymous memory if the file cannot take the write.
  private func nextSegment(for size: Int) -> JournalSegment? {
    if let index = state.spare.lastIndex(where: { hasRoom($0, for: size) }) { return state.spare.remove(at: index) }
    guard state.fileFailure != nil, size <= Self.memorySegmentSize, countInMemory < Self.maximumInMemory else {
      return nil
    }
    return JournalSegment(capacity: Self.memorySegmentSize)
  }

  /// Whether a write may have a segment of its own: it fits no other, or must be made although they are full.
  private func mayBeAlone(_ size: Int, _ isOfMany: Bool) -> Bool {
    if isOfMany && state.gate.failure != nil { return countInMemory < 2 * Self.maximumInMemory }
    let ofFile = state.fileFailure == nil ? state.file?.segmentSize : nil
    let longest = ofFile.map { $0 - JournalSegment.headerSize } ?? Self.memorySegmentSize
    let isFull = state.gate.failure != nil && ofFile != nil && state.spare.isEmpty
    return size > longest && countInMemory < Self.maximumInMemory && !isFull
  }

  var countInMemory: Int { uncommitted.count { !$0.isMapped } }

  // MARK: Waiting

  /// Whether this is the writer thread, which must not wait for itself.
  var isWriterThread: Bool { writerThread.load(ordering: .relaxed) == PlatformThread.current }

  /// Commits everything written so far. Does nothing on the writer thread.
  func commitPending() throws(CacheError) {
    guard hasPending.load(ordering: .acquiring), !isWriterThread else { return }
    let number = lock.withLock { lastWritten }
    try waitForCommit(of: number)
  }

  /// Requests an immediate commit of everything written so far. Requires the lock.
  func requestCommit() {
    state.requestedNumber = max(state.requestedNumber, lastWritten)
    lock.signalAll(.work)
  }

  /// Commits the segment `number` at once and waits for it.
  ///
  /// - Throws: `.notCommitted` if an attempt fails, or on the writer thread; the write is kept and retried. `.closed`.
  func waitForCommit(of number: Int) throws(CacheError) {
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
    while state.committedNumber < number || state.unreplayed != nil {
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
  @inline(__always)
  func lookup(_ key: CacheKey, position: UInt64) -> JournalSegment.Lookup {
    let own = lookupOwn(key, position)
    guard case .unknown = own, let unreplayed = state.unreplayed else { return own }
    return unreplayed.lookup(key.utf8, hash: key.hash)
  }

  /// The stamp of the write that ``lookup(_:position:)`` finds if it is a dead process's, which does not know of later
  /// commits; otherwise 0. Requires the lock.
  func unreplayedStamp(_ key: CacheKey, position: UInt64) -> UInt64 {
    guard let unreplayed = state.unreplayed, case .unknown = lookupOwn(key, position) else { return 0 }
    return switch unreplayed.lookup(key.utf8, hash: key.hash) {
    case .found(let frame): frame.stamp
    case .removed: state.unreplayedStamp
    case .unknown: 0
    }
  }

  @inline(__always)
  private func lookupOwn(_ key: CacheKey, _ position: UInt64) -> JournalSegment.Lookup {
    let hash = key.hash
    if let active = state.active {
      let lookup = active.lookup(key.utf8, hash: hash)
      if case .unknown = lookup {} else { return lookup }
    }
    if !state.sealed.isEmpty {
      // If another process committed after the segments being committed, they are in the database, though the writer
      // thread has not said so yet, and the database may be newer.
      let committing = committingPosition.load(ordering: .acquiring)
      let committed = committing != 0 && position > committing ? state.committingNumber : 0
      for segment in state.sealed.reversed() where segment.number > committed {
        let lookup = segment.lookup(key.utf8, hash: hash)
        if case .unknown = lookup {} else { return lookup }
      }
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
      func isRemoved(in segment: JournalSegment) -> Bool {
        !segment.tagRemovals.isEmpty && tags.hashes.contains { segment.tagRemovals[$0] ?? 0 > stamp }
      }
      return state.active.map(isRemoved) ?? false || state.sealed.contains(where: isRemoved)
    }
  }

  // MARK: Dead processes' writes that cannot be committed yet

  /// Shows readers a segment of such writes until ``forgetUnreplayed()``. Later writes are newer.
  func show(unreplayed segment: JournalSegment, lastStamp: UInt64) {
    lock.withLock {
      state.stamps.advance(to: lastStamp)
      state.unreplayed = segment
      state.unreplayedStamp = lastStamp
      markPending()
    }
  }

  /// Returns whether there were any.
  func forgetUnreplayed() -> Bool {
    lock.withLock {
      defer { unmarkIfCommitted() }
      return state.unreplayed.take() != nil
    }
  }
}
