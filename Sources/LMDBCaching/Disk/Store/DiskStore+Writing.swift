import Synchronization

/// How far a write got.
struct WriteOutcome {
  let stamp: UInt64
  /// The transaction as of which the write is known to be the newest: see ``TransactionTracker``.
  var validated: UInt64 = 0
  /// Set when nothing could be recorded: the write is nowhere but with the observer that made it, and what was on
  /// the disk before is hidden. Or when it is recorded, and did not get as far as it has to before it returns.
  var failure: CacheError?
  var isRecorded = true

  /// To be called when the memory tiers know of the write: it is visible, whether it is committed or not.
  func checkCommitted() throws(CacheError) {
    if let failure, isRecorded { throw failure }
  }
}

extension DiskStore {
  // MARK: Single writes

  /// Writes a record; returns when the write survives the death of the process, and in ``Durability/full`` when it is
  /// on the disk.
  ///
  /// When nothing can be recorded, since the disk is full, say, a write by an observer hides what is on the disk and
  /// succeeds: the observer holds the value. Any other write throws and changes nothing.
  @inline(__always)
  func put(
    _ key: CacheKey, header: RecordHeader, payload: UnsafeRawBufferPointer, by observer: (any DiskStoreObserver)?
  ) throws(CacheError) -> WriteOutcome {
    if !transforms.isEmpty { return try putTransformed(key, header: header, payload: payload, by: observer) }
    return try putAsIs(key, header: header, payload: payload, by: observer)
  }

  @inline(__always)
  private func putAsIs(
    _ key: CacheKey, header: RecordHeader, payload: UnsafeRawBufferPointer, by observer: (any DiskStoreObserver)?
  ) throws(CacheError) -> WriteOutcome {
    if payload.count > inlineThreshold { return try putFile(key, header: header, payload: payload, by: observer) }
    return try putInline(key, header: header, payload: payload, by: observer)
  }

  private func putTransformed(
    _ key: CacheKey, header: RecordHeader, payload: UnsafeRawBufferPointer, by observer: (any DiskStoreObserver)?
  ) throws(CacheError) -> WriteOutcome {
    guard let transformed = try transforms.apply(to: payload, header, key) else {
      return try putAsIs(key, header: header, payload: payload, by: observer)
    }
    var header = header
    header.flags.insert(.transformed)
    return try transformed.withBytes { (bytes) throws(CacheError) in
      try putAsIs(key, header: header, payload: bytes, by: observer)
    }
  }

  private func putInline(
    _ key: CacheKey, header: RecordHeader, payload: UnsafeRawBufferPointer, by observer: (any DiskStoreObserver)?
  ) throws(CacheError) -> WriteOutcome {
    let prepared = PreparedPut(key, header, payload)
    let outcome = try append(
      size: prepared.frameSize, unrecorded: observer == nil ? nil : { $0.insert(key.utf8, stamp: $1) }
    ) { segment in
      let stamp = nextStamp()
      announce(key.string, prepared.hash, stamp, isReadable: segment != nil)
      prepared.append(to: segment, stamp: stamp, flags: [])
      return stamp
    }
    didChange(key, outcome.stamp, by: observer)
    return outcome
  }

  private func putFile(
    _ key: CacheKey, header: RecordHeader, payload: UnsafeRawBufferPointer, by observer: (any DiskStoreObserver)?
  ) throws(CacheError) -> WriteOutcome {
    let reference: ValueFileReference
    do throws(SystemError) {
      reference = try files.write(payload, key: key.utf8, synchronized: durability != .fast)
    } catch {
      let error = CacheError(error, during: "Writing the value file of \(quoted(key.string))")
      if observer == nil { throw error }
      return try lock.withLock { () throws(CacheError) in
        if state.isStopping { throw .closed }
        noteFailure(error)
        return hide(error, { $0.insert(key.utf8, stamp: $1) }) { _ in
          let stamp = nextStamp()
          announce(key.string, key.hash, stamp, isReadable: false)
          return stamp
        }
      }
    }
    var header = header
    header.flags.insert(.file)
    let result = withStackBytes(ValueFileReference.size) { bytes in
      reference.write(to: bytes.baseAddress!)
      return LMDBCaching.outcome { () throws(CacheError) in
        try putInline(key, header: header, payload: UnsafeRawBufferPointer(bytes), by: observer)
      }
    }
    switch result {
    case .success(let outcome):
      if !outcome.isRecorded { removeFiles([reference]) }
      return outcome
    case .failure(let error):
      removeFiles([reference])
      throw error
    }
  }

  func remove(_ key: CacheKey, by observer: (any DiskStoreObserver)?) throws(CacheError) -> WriteOutcome {
    let size = JournalFrame.size(keyLength: key.utf8.count, recordLength: 0)
    let hash = key.hash
    let outcome = try append(size: size, unrecorded: observer == nil ? nil : { $0.insert(key.utf8, stamp: $1) }) {
      segment in
      let stamp = nextStamp()
      announce(key.string, hash, stamp, isReadable: segment != nil)
      segment?.remove(key: key.utf8, hash: hash, stamp: stamp, flags: [])
      return stamp
    }
    didChange(key, outcome.stamp, by: observer)
    return outcome
  }

  /// Removes every key that starts with `prefix`, or every key.
  func removeAll(
    withPrefix prefix: String?, by observer: (any DiskStoreObserver)?
  ) throws(CacheError) -> WriteOutcome {
    var isAnnounced = false
    defer { if isAnnounced { tracker.endRemoval() } }
    let outcome = try withUTF8Bytes(of: prefix ?? "") { (utf8) throws(CacheError) in
      let size = JournalFrame.size(keyLength: utf8.count, recordLength: 0)
      return try append(size: size, unrecorded: observer == nil ? nil : { $0.insertEverything(stamp: $1) }) { segment in
        let stamp = nextStamp()
        if !isAnnounced { tracker.beginRemoval() }
        isAnnounced = true
        for observer in state.observers { observer.willChangeAll(stamp: stamp) }
        if prefix == nil {
          segment?.removeAll(stamp: stamp, flags: [])
        } else {
          segment?.removeAll(prefix: utf8, stamp: stamp, flags: [])
        }
        return stamp
      }
    }
    for observer in observers { observer.didRemoveAll(withPrefix: prefix ?? "", stamp: outcome.stamp) }
    noteRemoval(ofAll: prefix ?? "", stamp: outcome.stamp, lastStamp: outcome.stamp)
    return outcome
  }

  // MARK: The common part

  var observers: [any DiskStoreObserver] { lock.withLock { state.observers } }

  private func didChange(_ key: CacheKey, _ stamp: UInt64, by writer: (any DiskStoreObserver)?) {
    // The common case is one observer, the writer itself.
    if observerCount.load(ordering: .acquiring) > (writer == nil ? 0 : 1) {
      for observer in observers where observer !== writer {
        observer.didChange(key.string, hash: key.hash, stamp: stamp)
      }
    }
    // A writer that has a memory tier says so itself, when that has the value too.
    if writer == nil { noteChange(key, stamp) }
  }

  /// With the lock held.
  @inline(__always)
  func announce(_ key: String, _ hash: UInt64, _ stamp: UInt64, isReadable: Bool) {
    for observer in state.observers { observer.willChange(key, hash: hash, stamp: stamp, isReadable: isReadable) }
  }

  /// A stamp greater than every one before, on the clock that all processes of this boot share. With the lock held.
  @inline(__always)
  func nextStamp() -> UInt64 {
    let now = ((state.stampBase &+ UInt64(clock.monotonic)) & ~0xFF) | Self.processTag
    let next = now > state.lastStamp ? now : state.lastStamp &+ 0x100
    state.lastStamp = next
    return next
  }

  /// The stamp after the last one, for all but the first write of a batch: it needs no look at the clock.
  @inline(__always)
  func followingStamp() -> UInt64 {
    state.lastStamp &+= 0x100
    return state.lastStamp
  }

  /// The low byte of this process's stamps, so that two processes hardly ever make the same one.
  private static let processTag = UInt64.random(in: 0...0xFF)

  /// Appends to the journal what `body` puts into the segment it gets: `size` bytes of frames at most.
  ///
  /// `body` runs with the lock held and returns the last stamp it used. When nothing can be recorded, its segment is
  /// nil and `unrecorded` notes what is stale on the disk now; without `unrecorded` the error is thrown instead.
  @inline(__always)
  func append(
    size: Int, unrecorded: ((inout UnrecordedKeys, UInt64) -> Void)?,
    large: (() -> JournalSegment)? = nil, body: (JournalSegment?) -> UInt64
  ) throws(CacheError) -> WriteOutcome {
    lock.lock()
    if state.isStopping {
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
        guard let unrecorded, error.code != .closed else { throw error }
        return hide(error, unrecorded, body)
      }
    }
    let wasEmpty = segment.isEmpty
    if wasEmpty {
      segment.firstAppend = clock.monotonic
      markPending()
    }
    let stamp = body(segment)
    let isLarge = !segment.isMapped
    if wasEmpty || (segment.used >= segment.capacity / 4 && segment.used - size < segment.capacity / 4) {
      lock.signalAll(.work)
    }
    let number = segment.number
    let validated = foreignEpoch
    lock.unlock()
    var outcome = WriteOutcome(stamp: stamp, validated: validated)
    if isLarge || durability == .full {
      do throws(CacheError) { try waitForCommit(of: number) } catch { outcome.failure = error }
    }
    return outcome
  }

  /// Sends readers to the lock. Before a write is announced to the memory tiers, never after: a reader that takes its
  /// token after the announcement must not find the older value in the database. With the lock held.
  private func markPending() { hasPending.store(true, ordering: .releasing) }

  /// Notes a write that is with the caller only. With the lock held.
  private func hide(
    _ error: CacheError, _ unrecorded: (inout UnrecordedKeys, UInt64) -> Void, _ body: (JournalSegment?) -> UInt64
  ) -> WriteOutcome {
    markPending()
    let stamp = body(nil)
    unrecorded(&state.unrecorded, stamp)
    return WriteOutcome(stamp: stamp, validated: foreignEpoch, failure: error, isRecorded: false)
  }

  /// A segment with `size` bytes free: the active one, or the next one after sealing that, or for what is larger
  /// than any journal segment one of its own. With the lock held; waits for the writer thread.
  private func segmentWithRoom(for size: Int, _ large: (() -> JournalSegment)?) throws(CacheError) -> JournalSegment {
    try makeJournalIfNeeded()
    while true {
      if state.isStopping { throw .closed }
      let active = state.active!
      if active.free >= size { return active }
      if !state.spare.isEmpty {
        seal()
        lock.signalAll(.work)
        if size <= state.active!.free { return state.active! }
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
      if let failure = state.failure { throw failure.error }
      lock.signalAll(.work)
      lock.wait(for: .progress)
    }
  }

  /// Hands the active segment over to the writer thread. With the lock held; there has to be a spare one.
  func seal() {
    let next = state.spare.removeLast()
    if let active = state.active {
      state.sealed.append(active)
      if !active.isEmpty { state.lastFrameStamp = active.lastStamp }
    }
    next.follow(state.lastFrameStamp)
    state.lastNumber += 1
    next.number = state.lastNumber
    state.active = next
  }

  private func makeJournalIfNeeded() throws(CacheError) {
    if state.active != nil { return }
    if let failure = state.failure, clock.monotonic < failure.retryAt { throw failure.error }
    do throws(SystemError) {
      let journal = try JournalFile(directory: directory, size: journalSize)
      state.spare = journal.makeSegments()
      state.journal = consume journal
      seal()
    } catch {
      let error = CacheError(error, during: "Making the journal in \(directory)")
      noteFailure(error)
      throw error
    }
  }

  // MARK: Waiting

  /// Commits everything written so far and returns when it is done.
  func commitPending() throws(CacheError) {
    guard hasPending.load(ordering: .acquiring) else { return }
    let number = lock.withLock { state.active.map { $0.isEmpty ? $0.number - 1 : $0.number } ?? 0 }
    try waitForCommit(of: number)
  }

  /// Waits until the segment `number` is committed, and makes that happen at once.
  func waitForCommit(of number: Int) throws(CacheError) {
    lock.lock()
    defer { lock.unlock() }
    if state.committedNumber >= number { return }
    if state.requestedNumber < number {
      state.requestedNumber = number
      lock.signalAll(.work)
    }
    let attempts = state.failure?.attempts ?? 0
    while state.committedNumber < number {
      if state.isClosed { throw .closed }
      // Told at once while the writer thread pauses between attempts, and after an attempt that failed.
      if let failure = state.failure, failure.attempts > attempts || clock.monotonic < failure.retryAt {
        throw CacheError(
          .notCommitted,
          "The write is visible and kept, but its commit failed so far: \(failure.error.message) It is tried again.",
          underlying: failure.error)
      }
      lock.wait(for: .progress)
    }
  }
}
