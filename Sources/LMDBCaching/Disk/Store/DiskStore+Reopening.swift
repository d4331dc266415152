import LMDB
import Logging
import Synchronization

// Files that somebody deletes or replaces while they are open: a cleaner of caches, a user, a backup that is put back; and
// those that LMDB gives up on.
//
// Before every write transaction, and about every second, the files at the paths are compared with those that are open,
// by device and inode. If they differ, the store goes over to what is there now, or makes it anew. Nothing is written
// into a file that has no name any more, and no two processes write with two lock files: the data file's own lock keeps
// them apart until each has noticed (see FileLocks). Whatever memory holds is looked at again: transactions of the new
// files have greater positions than all before.

extension DiskStore {
  /// How often a transaction is begun anew when the files change under it.
  private static let maximumReopenings = 8

  /// Begins a write transaction, on the files that are at their paths now. On the writer thread, or before it is started.
  func beginSession() throws(LMDBError) -> WriteSession {
    for _ in 0..<Self.maximumReopenings {
      do throws(CacheError) {
        try reopenIfDisplaced()
      } catch {
        throw LMDBError(reopening: error)
      }
      let session: WriteSession
      do throws(LMDBError) {
        session = try WriteSession(self)
      } catch {
        guard error.code == .panic else { throw error }
        try revive()
        continue
      }
      // Now that nobody else writes: what is found in place stays in its place for everybody else's next transaction.
      if try environment.displacement().isEmpty { return session }
      session.abort()
    }
    throw LMDBError(
      code: .fileReplaced, operation: "DiskStore.beginSession",
      message: "The files of \(directory) are deleted or replaced again and again. Stop what does it.")
  }

  /// Looks after the files, on the writer thread, about every second.
  func checkPlace() {
    do throws(CacheError) {
      try reopenIfDisplaced()
    } catch {
      lock.withLock {
        noteFailure(error)
        lock.signalAll(.progress)
      }
    }
  }

  /// For a new opener of a store that this process has open already: hands out what is in the directory now.
  func reopenForNewOpener() throws(CacheError) {
    do throws(CacheError) {
      if try displacement().isEmpty { return }
      try onWriterThread { [self] in outcome { () throws(CacheError) in try reopenIfDisplaced() } }
    } catch {
      try release()
      throw error
    }
  }

  /// Compares the files that are open with what is at their paths. Any thread.
  func displacement() throws(CacheError) -> StoreDisplacement {
    lock.lock()
    let journal = state.journal?.location
    lock.unlock()
    return try place.withLock { (place) throws(CacheError) in
      var displacement: StoreDisplacement = []
      let files = try storing("Looking for the files of \(directory)") { () throws(LMDBError) in
        try environment.displacement()
      }
      if files.contains(.data) { displacement.insert(.data) }
      if files.contains(.lockFile) { displacement.insert(.lockFile) }
      try calling("Looking for the files of \(directory)") { () throws(SystemError) in
        if try Directory.identity(of: directory) != place.directory { displacement.insert(.directory) }
        let processLock = try Directory.identity(of: directory + "/" + ProcessLock.name)
        if processLock != place.processLock.identity { displacement.insert(.processLock) }
        if let journal, try Directory.identity(of: journal.path) != journal.identity {
          displacement.insert(.journal)
        }
        if !files.contains(.data), let size = try Directory.size(of: directory + "/data.mdb") {
          if size < place.dataSize { displacement.insert(.isTruncated) }
          place.dataSize = max(place.dataSize, size)
        }
      }
      return displacement
    }
  }

  /// On the writer thread, or before it is started.
  func reopenIfDisplaced() throws(CacheError) {
    let displacement = try displacement()
    if displacement.isEmpty { return }
    let opened = try Self.openFiles(
      directory, configuration,
      displaced: DisplacedFiles(
        files: environment.files, displacement: displacement,
        processLock: displacement.isDisjoint(with: [.directory, .processLock])
          ? place.withLock { $0.processLock } : nil))
    if opened.environment === environment {
      // The database is in its place: it was the journal, or the processes' lock.
      environment.close()
    } else {
      do throws(LMDBError) {
        if !displacement.contains(.journal) { try noteWatermark(opened.environment) }
        try environment.adopt(opened.environment)
      } catch {
        opened.environment.close()
        throw CacheError(error, during: "Reopening the cache in \(directory)")
      }
    }
    place.withLock { $0 = opened.place }
    lock.withLock {
      state.stampBase = opened.metadata.stampBase
      state.lastStamp = max(state.lastStamp, opened.metadata.lastStamp)
    }
    try renewJournal(displacement)
    // The cause of a failure is gone with the files; if not, the next commit meets it again.
    lock.withLock {
      state.failure = nil
      lock.signalAll(.progress)
    }
    didReopen()
    logger.warning(
      "cache files were deleted or replaced while open: reopened",
      metadata: ["directory": "\(directory)", "displaced": "\(displacement.names)"])
  }

  /// Observers cannot know what of the old files they have seen.
  private func didReopen() {
    counters.reopenings.increment()
    followAgain()
    feed.deliver { $0.compactMap { $0.mailbox.push(.missed) } }
  }

  // MARK: Files that LMDB gave up on

  /// Opens the files again, since LMDB refuses everything once it could not write its meta page (`MDB_PANIC`). On the
  /// writer thread.
  private func revive() throws(LMDBError) {
    try environment.revive()
    didReopen()
    logger.warning("cache files were opened again after an I/O error", metadata: ["directory": "\(directory)"])
  }

  /// For who reads: the writer thread does it next. Any thread.
  func reviveSoon() {
    if isRevivalQueued.exchange(true, ordering: .acquiringAndReleasing) { return }
    let generation = environment.generation
    enqueueOnWriterThread { [self] in
      isRevivalQueued.store(false, ordering: .releasing)
      // A commit may have done it meanwhile.
      if environment.generation != generation { return }
      // If it fails, the next commit or the next read tries it again.
      _ = outcome { () throws(LMDBError) in try revive() }
    }
  }

  /// What the journal goes on from was committed to the old files; without this a replay would find a gap before it.
  private func noteWatermark(_ environment: Environment) throws(LMDBError) {
    guard let journal = lock.withLock({ state.journal?.identifier }) else { return }
    let transaction = try environment.beginWrite()
    try WriteSession.setWatermark(watermark, ofJournal: journal, transaction)
    try transaction.commit()
  }

  /// A journal without a name is replayed by nobody. What waits in it is committed at once.
  private func renewJournal(_ displacement: StoreDisplacement) throws(CacheError) {
    guard displacement.contains(.journal) else { return }
    let journal = try calling("Making the journal in \(directory)") { () throws(SystemError) in
      try JournalFile(directory: directory, size: journalSize)
    }
    lock.lock()
    defer { lock.unlock() }
    if let active = state.active {
      if active.isEmpty {
        // The new one gets its number: everything before the active segment is committed some time.
        state.lastNumber -= 1
      } else {
        state.sealed.append(active)
        state.requestedNumber = max(state.requestedNumber, active.number)
      }
    }
    state.active = nil
    state.spare = journal.makeSegments()
    state.journal = consume journal
    // It is a journal of its own: nothing goes before its first frame.
    state.lastFrameStamp = 0
    seal()
    lock.signalAll(.progress)
  }
}

extension LMDBError {
  /// A transaction that could not be begun, since its files could not be opened anew.
  fileprivate init(reopening error: CacheError) {
    if let underlying = error.underlying as? LMDBError {
      self = underlying
      message = error.message
      return
    }
    let code: Code =
      switch error.code {
      case .lockTimeout: .lockTimeout
      case .noSpace: .noSpace
      case .permissionDenied: .permissionDenied
      case .readOnlyFileSystem: .readOnlyFileSystem
      case .closed: .closed
      default: .fileReplaced
      }
    self.init(code: code, operation: "DiskStore.reopen", message: error.message)
  }
}
