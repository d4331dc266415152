import LMDB
import Platform
import Synchronization

/// Writes that depend on what is there. See ``ExclusiveUse``.
extension DiskStore {
  /// What a conditional write does with an entry.
  enum Edit {
    case put(RecordHeader, ValueDraft)
    /// The same record with another expiry: the value stays where it is.
    case touch(expires: Int64)
    case remove
  }

  // MARK: Conditions

  /// Begins a conditional write, which ``end(_:)`` ends.
  ///
  /// - Throws: `.recursiveUpdate` in the closure of such a write of the same key.
  func begin(_ key: CacheKey) throws(CacheError) -> ConditionalWrite {
    try admit(.key(key.utf8))
    return observers.conditional.begin(key)
  }

  func end(_ write: ConditionalWrite) { observers.conditional.end(write, environment) }

  func noteConflict(of write: ConditionalWrite) throws(CacheError) {
    if journal.isWriterThread { return }
    let isShared = journal.lock.withLock { journal.isShared }
    try observers.conditional.noteConflict(of: write, isShared: isShared, environment)
  }

  /// Notes what the entry is now, for a write that is to follow what is read next.
  ///
  /// - Returns: `nil` if other processes have the cache open, or a transaction is just changing the entry: the
  ///   condition is the stamp of what is read.
  func condition(_ write: ConditionalWrite) throws(CacheError) -> EntryCondition? {
    write.tags = nil
    if journal.lock.withLock({ journal.isShared }), exclusive.want() {
      try writer.run { [exclusive] in exclusive.becomeAlone() }
    }
    return journal.lock.withLock {
      if journal.isShared || observers.changing == write.hash { return nil }
      observers.conditional.register(write)
      return .unchanged(write, position: foreignPosition)
    }
  }

  /// Releases a key's lock when others can see what was written under it: with other processes, once that is committed.
  func release(_ lock: KeyLocks.KeyLock, hasWritten: Bool) {
    guard hasWritten, journal.lock.withLock({ journal.isShared }) else { return lock.release() }
    let looks = exclusive.want()
    // If the store is closing its end releases the lock.
    writer.enqueue { [exclusive, journal, writer] in
      if looks { exclusive.becomeAlone() }
      let isShared = journal.lock.withLock {
        if journal.isShared { journal.requestCommit() }
        return journal.isShared
      }
      if !isShared { return lock.release() }
      // After the commit, which is due.
      writer.enqueue { lock.release() }
    }
  }

  /// The stamp of the entry that is there; 0: none, one that has expired, or one that cannot be read.
  func stamp(_ key: CacheKey) throws(CacheError) -> UInt64 {
    try liveHeader(key)?.stamp ?? 0
  }

  // MARK: Writing

  /// Makes a write if `condition` holds; the outcome says so if it did not.
  ///
  /// - Throws: as the write without a condition. `.lockTimeout` if another process does not commit its conditional
  ///   writes.
  func edit(
    _ key: CacheKey, _ edit: Edit, if condition: EntryCondition, by observer: (any DiskStoreObserver)?
  ) throws(CacheError) -> WriteOutcome {
    // Not one switch over both: a pair copies them, which counts references.
    switch edit {
    case .put(let header, let draft):
      // Appending a long value takes long: not where the condition has failed already.
      if draft.payload.count > inlineThreshold, draft.appended == nil, try !mayHold(condition, key) {
        return WriteOutcome(stamp: 0, isRefused: true)
      }
      switch condition {
      case .unchanged(let write, let position):
        return try put(
          key, header: header, payload: draft.payload, through: draft.transforms, by: observer, draft: draft
        ) { [self] in isUnchanged(write, position) }
      case .stamp(let stamp):
        return try preparing(key, header, draft) { (header, payload) throws(CacheError) in
          try transact(key, expecting: stamp, .put(PreparedPut(key, header.transacted, payload)))
        }
      }
    case .touch(let expires):
      guard case .stamp(let stamp) = condition else { preconditionFailure("A record is touched in a transaction.") }
      return try transact(key, expecting: stamp, .touch(expires: expires))
    case .remove:
      switch condition {
      case .unchanged(let write, let position):
        return try remove(key, by: observer) { [self] in isUnchanged(write, position) }
      case .stamp(let stamp): return try transact(key, expecting: stamp, .remove)
      }
    }
  }

  private func mayHold(_ condition: EntryCondition, _ key: CacheKey) throws(CacheError) -> Bool {
    switch condition {
    case .unchanged(let write, _): journal.lock.withLock { observers.conditional.isUnchanged(write) }
    case .stamp(let stamp): try self.stamp(key) == stamp
    }
  }

  /// With the journal's lock held, at the moment of the write.
  private func isUnchanged(_ write: ConditionalWrite, _ position: UInt64) -> Bool {
    wasUnchanged(write, position) && journal.claimExclusiveUse()
  }

  private func wasUnchanged(_ write: ConditionalWrite, _ position: UInt64) -> Bool {
    // What a transaction is about to commit cannot be read yet, and must not be missed.
    observers.conditional.isUnchanged(write) && foreignPosition == position && observers.changing != write.hash
  }

  /// The same for the entries that a batch is written to.
  func areUnchanged(_ entries: [(write: ConditionalWrite, position: UInt64)]) -> Bool {
    entries.allSatisfy { wasUnchanged($0.write, $0.position) } && journal.claimExclusiveUse()
  }

  /// Transforms a value and appends it to the value log, as every put does.
  private func preparing<R>(
    _ key: CacheKey, _ header: RecordHeader, _ draft: ValueDraft,
    _ body: (RecordHeader, ByteView) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    func placing(_ header: RecordHeader, _ payload: ByteView) throws(CacheError) -> R {
      if payload.count <= inlineThreshold { return try body(header, payload) }
      return try appended(payload, key, draft).pointer.withBytes { (pointer) throws(CacheError) in
        try body(header.referring, pointer)
      }
    }
    guard !draft.transforms.isEmpty,
      let bytes = try transformed(draft.payload, draft.transforms, key, header, draft)
    else { return try placing(header, draft.payload) }
    var header = header
    header.flags.insert(.transformed)
    return try bytes.withBytes { [header] (bytes) throws(CacheError) in try placing(header, bytes) }
  }

  // MARK: In a transaction

  private enum Transacted {
    case done(WriteOutcome)
    /// The entry is another one, or will be: a write of this process waits, which goes first.
    case refused
    /// The entry cannot be read, or is of another version. It was not touched.
    case unreadable(CacheError)
    /// Another process has to commit first: the owner of this journal.
    case unsettled(FileIdentity)
  }

  /// An ``Edit`` that is ready for the database. No closure: the job that has it goes some time after it has run.
  private enum Change {
    case put(PreparedPut)
    case touch(expires: Int64)
    case remove

    func count(in writes: inout WriteCounts) {
      switch self {
      case .put: writes.sets &+= 1
      case .remove: writes.removals &+= 1
      // The value is the same.
      case .touch: break
      }
    }

    /// Returns `false` if the record to change is damaged.
    func apply(
      to session: inout WriteSession, _ key: CacheKey, _ databaseKey: ByteView, stamp: UInt64
    ) throws(LMDBError) -> Bool {
      switch self {
      case .put(let prepared):
        try prepared.record(stamp: stamp).withBytes { (record) throws(LMDBError) in
          try session.put(record, forKey: databaseKey)
        }
      case .touch(let expires): return try session.setExpiry(databaseKey, of: key, expires: expires, stamp: stamp)
      case .remove: _ = try session.remove(databaseKey, of: key.utf8)
      }
      return true
    }
  }

  /// Changes an entry in a transaction of its own, after what waits, if it has this stamp.
  private func transact(
    _ key: CacheKey, expecting expected: UInt64, _ change: Change
  ) throws(CacheError) -> WriteOutcome {
    try admit(.key(key.utf8))
    let deadline = MonotonicClock.nanoseconds.addingClamped(settings.lockTimeout.clampedNanoseconds)
    while true {
      // The caller waits until the job has run: the bytes of the views stay.
      let result = try writer.run { [self] in try transactOnWriterThread(key, expected, change) }
      switch result {
      case .done(let outcome):
        journal.lock.withLock { change.count(in: &journal.state.writes) }
        didChange(key, outcome.stamp, by: nil)
        return outcome
      case .refused: return WriteOutcome(stamp: 0, isRefused: true)
      case .unreadable(let error): throw error
      case .unsettled(let journal):
        if MonotonicClock.nanoseconds >= deadline {
          throw .lockTimeout(directory, LockHolder.exclusive(of: journal))
        }
        MonotonicClock.sleep(nanoseconds: Self.settlingInterval)
      }
    }
  }

  private static let settlingInterval: Int64 = 1_000_000

  private func transactOnWriterThread(
    _ key: CacheKey, _ expected: UInt64, _ change: Change
  ) throws(CacheError) -> Transacted {
    // What waits could not go first: it would be waited for without end.
    if writer.isCommitting {
      throw CacheError(.busy, "A commit is under way, and this is the thread that makes it. Write from another one.")
    }
    if let journal = try exclusive.unsettled() { return .unsettled(journal) }
    writer.commitWaiting()
    if case .remove = change { try peers.applyBeforeCommit(leavingNothing: true) }
    if let failure = journal.lock.withLock({ journal.state.gate.failure }) { throw failure.error }
    let hash = key.hash
    var isChanging = false
    defer { if isChanging { journal.lock.withLock { observers.endChange(key.string, hash) } } }
    return try database.databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(CacheError) in
      try database.transactIfNeeded("Changing \(quoted(key.string))", makingRoom: committer.makeRoom) {
        (session) throws(LMDBError) in
        let current = try session.stamp(databaseKey, of: key.utf8, at: clock.now) { bytes in
          database.unreadable(bytes, key.string)
        }
        var stamp: UInt64 = 0
        let refusal = journal.lock.withLock { () -> Transacted? in
          if journal.waits(key, position: foreignPosition) { return .refused }
          switch current {
          case .success(let current): if current != expected { return .refused }
          // It is no entry that somebody has seen.
          case .failure(let error): return expected == 0 ? .unreadable(error) : .refused
          }
          // Greater than those of whatever it replaces, in whichever process that was written.
          journal.state.stamps.advance(to: max(session.metadata.lastStamp, session.foreignClearStamp))
          stamp = journal.state.stamps.next(clock)
          observers.beginChange(key.string, hash, stamp)
          isChanging = true
          return nil
        }
        if let refusal { return (refusal, isCommitted: false) }
        guard try change.apply(to: &session, key, databaseKey, stamp: stamp) else {
          return (.unreadable(database.corrupted(key.string)), isCommitted: false)
        }
        session.metadata.lastStamp = max(session.metadata.lastStamp, stamp)
        return (.done(WriteOutcome(stamp: stamp, validated: session.position)), isCommitted: true)
      }
    }
  }
}
