import CLMDB
import Platform
import Synchronization

extension Environment {
  /// Begins the write transaction (`mdb_txn_begin`). There is one at a time across all threads and processes; waits for
  /// it without a limit.
  ///
  /// Also holds a lock of the data file (`flock`, about a microsecond) until the transaction ends, because LMDB's mutex
  /// is in the lock file, which may be deleted.
  ///
  /// End it on the thread that began it; dropping it aborts. A thread can hold only one.
  ///
  /// - Throws: `.busy` if this thread already holds one and would deadlock; `.closed`; `.permissionDenied` if the
  ///   environment is read-only.
  public func beginWrite() throws(LMDBError) -> WriteTransaction {
    guard !options.isReadOnly else {
      throw LMDBError(
        code: .permissionDenied, operation: "Environment.beginWrite",
        message: "The environment was opened read-only. Open it for writing.")
    }
    try lockWriter("Environment.beginWrite")
    do throws(LMDBError) {
      try takeWriterLock("Environment.beginWrite")
    } catch {
      unlockWriter()
      throw error
    }
    do throws(LMDBError) {
      let transaction = try beginAsWriter(flags: 0)
      writer.cursor = nil
      writer.isDoomed = false
      return WriteTransaction(environment: self, handle: transaction)
    } catch {
      locks?.releaseWriter()
      unlockWriter()
      throw error
    }
  }

  /// Takes this process's write lock, which also keeps the map in place and the environment open.
  func lockWriter(_ operation: String) throws(LMDBError) {
    try control.pointee.checkUsable(operation)
    guard control.pointee.writerThread.load(ordering: .relaxed) != PlatformThread.current else {
      throw LMDBError(
        code: .busy, operation: operation,
        message: "This thread holds a write transaction. End it first.")
    }
    writerMutex.lock()
    do throws(LMDBError) {
      try control.pointee.checkUsable(operation)
    } catch {
      writerMutex.unlock()
      throw error
    }
    control.pointee.writerThread.store(PlatformThread.current, ordering: .relaxed)
  }

  func unlockWriter() {
    control.pointee.writerThread.store(0, ordering: .relaxed)
    writerMutex.unlock()
  }

  /// Begins a transaction after adopting other processes' larger maps. The caller holds the write lock.
  func beginAsWriter(flags: UInt32) throws(LMDBError) -> OpaquePointer {
    // Another process may grow the map again in between, so retry a limited number of times.
    for _ in 0..<16 {
      var transaction: OpaquePointer?
      let status = Calls.begin(handle, flags: flags, &transaction)
      if status == MDB_SUCCESS, let transaction {
        return transaction
      }
      guard status == MDB_MAP_RESIZED else { throw LMDBError(status: status, operation: .txnBegin) }
      try adoptMapSizeAsWriter()
    }
    throw LMDBError(status: MDB_MAP_RESIZED, operation: .txnBegin)
  }

  /// Commits and frees the transaction, and releases the write lock even on failure.
  func commitWrite(_ transaction: OpaquePointer) throws(LMDBError) {
    checkWriterThread()
    defer {
      locks?.releaseWriter()
      unlockWriter()
    }
    closeWriterCursor()
    if writer.isDoomed {
      Calls.abort(transaction)
      throw LMDBError(status: MDB_BAD_TXN, operation: .txnCommit)
    }
    let status = Calls.commit(transaction)
    guard status == MDB_SUCCESS else { throw LMDBError(status: ofFullDisk(status), operation: .txnCommit) }
  }

  /// Aborts and frees the transaction, and releases the write lock.
  func abortWrite(_ transaction: OpaquePointer) {
    checkWriterThread()
    defer {
      locks?.releaseWriter()
      unlockWriter()
    }
    closeWriterCursor()
    Calls.abort(transaction)
  }

  /// The error for a failed change. Dooms the transaction unless the change was refused up front.
  func writeError(_ status: Int32, _ operation: Calls.Name) -> LMDBError {
    switch status {
    case MDB_BAD_VALSIZE, MDB_KEYEXIST, MDB_NOTFOUND, EINVAL: break
    default: writer.isDoomed = true
    }
    return LMDBError(status: ofFullDisk(status), operation: operation)
  }

  /// LMDB returns `EIO` for a write that a full disk cut short. A failing device has free space.
  private func ofFullDisk(_ status: Int32) -> Int32 {
    guard status == EIO, let place else { return status }
    do throws(SystemError) { return try place.freeSpace() < 1 << 16 ? ENOSPC : status } catch { return status }
  }

  /// Throws if an earlier change failed midway, as LMDB does for its own errors.
  @inline(__always)
  func checkNotDoomed(_ operation: Calls.Name) throws(LMDBError) {
    if _slowPath(writer.isDoomed) {
      throw LMDBError(status: MDB_BAD_TXN, operation: operation)
    }
  }

  /// The shared cursor over the main database, opened on first use in a transaction.
  func writerCursor(_ transaction: OpaquePointer) throws(LMDBError) -> OpaquePointer {
    if let cursor = writer.cursor {
      return cursor
    }
    let status = Calls.openCursor(transaction, Database.main.handle, &writer.cursor)
    guard status == MDB_SUCCESS, let cursor = writer.cursor else {
      throw LMDBError(status: status, operation: .cursorOpen)
    }
    return cursor
  }

  /// Traps on another thread than the transaction's: LMDB's mutex would stay locked in all processes.
  private func checkWriterThread() {
    precondition(
      control.pointee.writerThread.load(ordering: .relaxed) == PlatformThread.current,
      "A write transaction must end on the thread that began it.")
  }

  private func closeWriterCursor() {
    if let cursor = writer.cursor {
      Calls.closeCursor(cursor)
      writer.cursor = nil
    }
  }
}
