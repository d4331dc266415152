import LMDB
import Platform
import Synchronization

/// Writes that depend on what is there. See ``ExclusiveUse``.
extension DiskStore {
  /// What a conditional write does with an entry.
  enum Edit {
    case put(RecordHeader, UnsafeRawBufferPointer, ValueTransforms)
    /// A value that has gone through the transforms, or needs none.
    case putAsIs(RecordHeader, UnsafeRawBufferPointer)
    /// The same record with another expiry: the value stays where it is.
    case touch(expires: Int64)
    case remove
  }

  // MARK: Conditions

  /// Notes what the entry is now, for a write that is to follow what is read next.
  ///
  /// - Returns: `nil` if other processes have the cache open, or a transaction is just changing the entry: the condition is
  ///   the stamp of what is read.
  func condition(_ key: CacheKey) throws(CacheError) -> EntryCondition? {
    var company = company(key.hash)
    if case .others = company, exclusive.want() {
      try writer.run { [exclusive] in
        exclusive.becomeAlone()
        return .success(())
      }
      company = self.company(key.hash)
    }
    if case .none(let condition) = company { return condition }
    return nil
  }

  private enum Company {
    /// With what a write has to expect.
    case none(EntryCondition)
    /// A transaction that is about to change an entry of this hash.
    case change
    case others
  }

  private func company(_ hash: UInt64) -> Company {
    // At a moment at which every write has been announced to the end, and is where readers find it: one that is half
    // announced has its version already, and the memory tiers still have what was there before.
    journal.lock.withLock {
      while !journal.isShared && observers.isPlacing { journal.lock.wait(for: .progress) }
      if journal.isShared { return .others }
      if observers.changing == hash { return .change }
      let version = observers.versions.word(hash: hash).pointee.load(ordering: .acquiring)
      return .none(.unchanged(version: version, position: foreignPosition))
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
  /// - Throws: as the write without a condition. `.lockTimeout` if another process does not commit its conditional writes.
  func edit(
    _ key: CacheKey, _ edit: Edit, if condition: EntryCondition, by observer: (any DiskStoreObserver)?
  ) throws(CacheError) -> WriteOutcome {
    switch (condition, edit) {
    case (.unchanged(let version, let position), .put(let header, let payload, let transforms)):
      return try put(key, header: header, payload: payload, through: transforms, by: observer) { [self] in
        isUnchanged(key, version, position)
      }
    case (.unchanged(let version, let position), .putAsIs(let header, let payload)):
      return try putAsIs(key, header: header, payload: payload, by: observer) { [self] in
        isUnchanged(key, version, position)
      }
    case (.unchanged(let version, let position), .remove):
      return try remove(key, by: observer) { [self] in isUnchanged(key, version, position) }
    case (.unchanged, .touch): preconditionFailure("A record is touched in a transaction.")
    case (.stamp(let stamp), .put(let header, let payload, let transforms)):
      return try preparing(key, header, payload, transforms) { (header, payload) throws(CacheError) in
        try transact(key, expecting: stamp, .put(PreparedPut(key, header.transacted, payload)))
      }
    case (.stamp(let stamp), .putAsIs(let header, let payload)):
      return try placing(key, header, payload) { (header, payload) throws(CacheError) in
        try transact(key, expecting: stamp, .put(PreparedPut(key, header.transacted, payload)))
      }
    case (.stamp(let stamp), .touch(let expires)): return try transact(key, expecting: stamp, .touch(expires: expires))
    case (.stamp(let stamp), .remove): return try transact(key, expecting: stamp, .remove)
    }
  }

  /// With the journal's lock held, at the moment of the write.
  private func isUnchanged(_ key: CacheKey, _ version: UInt64, _ position: UInt64) -> Bool {
    wasUnchanged(key.hash, version, position) && journal.claimExclusiveUse()
  }

  private func wasUnchanged(_ hash: UInt64, _ version: UInt64, _ position: UInt64) -> Bool {
    // What a transaction is about to commit cannot be read yet, and must not be missed.
    observers.versions.word(hash: hash).pointee.load(ordering: .acquiring) == version
      && foreignPosition == position && observers.changing != hash
  }

  /// An entry, by the hash of its key, and what it was when ``condition(_:)`` was asked.
  struct UnchangedEntry {
    let hash: UInt64
    let version: UInt64
    let position: UInt64
  }

  /// The same for the entries that a batch is written to.
  func areUnchanged(_ entries: [UnchangedEntry]) -> Bool {
    entries.allSatisfy { wasUnchanged($0.hash, $0.version, $0.position) } && journal.claimExclusiveUse()
  }

  /// Transforms a value and appends it to the value log, as every put does.
  private func preparing<R>(
    _ key: CacheKey, _ header: RecordHeader, _ payload: UnsafeRawBufferPointer, _ transforms: ValueTransforms,
    _ body: (RecordHeader, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    if !transforms.isEmpty, let transformed = try transforms.apply(to: payload, header, key) {
      var header = header
      header.flags.insert(.transformed)
      return try transformed.withBytes { (bytes) throws(CacheError) in try placing(key, header, bytes, body) }
    }
    return try placing(key, header, payload, body)
  }

  private func placing<R>(
    _ key: CacheKey, _ header: RecordHeader, _ payload: UnsafeRawBufferPointer,
    _ body: (RecordHeader, UnsafeRawBufferPointer) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    if payload.count <= inlineThreshold { return try body(header, payload) }
    let value = try appendValue(payload, key: key)
    defer { value.end() }
    return try value.pointer.withBytes { (pointer) throws(CacheError) in try body(header.referring, pointer) }
  }

  // MARK: In a transaction

  private enum Transacted {
    case done(WriteOutcome)
    /// The entry is another one.
    case refused
    /// A write of this process waits, which goes first.
    case waits
    /// The entry cannot be read, and was not touched.
    case damaged
    /// There is something that is no entry of this version, and not nothing. It was not replaced.
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
      to session: inout WriteSession, _ key: CacheKey, _ databaseKey: UnsafeRawBufferPointer, stamp: UInt64
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
    let deadline = MonotonicClock.nanoseconds.addingClamped(settings.lockTimeout.clampedNanoseconds)
    // The caller waits until the job has run: what it points to stays.
    nonisolated(unsafe) let (key, change) = (key, change)
    while true {
      let result = try writer.run { [self] in
        outcome { () throws(CacheError) in try transactOnWriterThread(key, expected, change) }
      }
      switch result {
      case .done(let outcome):
        journal.lock.withLock { change.count(in: &journal.state.writes) }
        didChange(key, outcome.stamp, by: nil)
        return outcome
      case .refused: return WriteOutcome(stamp: 0, isRefused: true)
      case .waits: continue
      case .damaged: throw database.corrupted(key.string)
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
          if journal.waits(key, position: foreignPosition) { return .waits }
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
          return (.damaged, isCommitted: false)
        }
        session.metadata.lastStamp = max(session.metadata.lastStamp, stamp)
        return (.done(WriteOutcome(stamp: stamp, validated: session.position)), isCommitted: true)
      }
    }
  }
}
