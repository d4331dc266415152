import CLMDB
import Platform
import Synchronization

/// A write transaction: sees its own changes and publishes all of them at once, or none.
///
/// It belongs to the thread that began it. Ending it on another one traps, because LMDB's mutex would stay locked in
/// all processes. Dropping it aborts. If a change fails midway, all later calls including the commit throw
/// `.badTransaction`: abort, and retry the whole transaction.
///
/// Its pointers are valid until the next change or its end.
public struct WriteTransaction: ~Copyable {
  @usableFromInline let owner: Environment
  @usableFromInline let handle: TransactionHandle
  private let control: ControlReference
  private var hasEnded = false

  init(environment: Environment, handle: TransactionHandle) {
    owner = environment
    control = environment.control
    self.handle = handle
  }

  deinit { if !hasEnded { owner.abortWrite(handle) } }

  /// The number that the transaction will have once committed (`mdb_txn_id`).
  public var id: UInt64 { handle.id }

  // MARK: - Reading

  /// Runs `body` with a key's value as this transaction sees it (`mdb_get`).
  ///
  /// - Parameter body: Receives the bytes, valid until it returns. It must not write.
  /// - Returns: The result of `body`, or `nil` if the key is absent.
  @inlinable
  public func withValue<R: ~Copyable>(
    forKey key: UnsafeRawBufferPointer, in database: Database = .main,
    _ body: (UnsafeRawBufferPointer) throws(LMDBError) -> R
  ) throws(LMDBError) -> R? {
    guard let value = try unsafe handle.get(key, in: database) else { return nil }
    return try unsafe body(value)
  }

  /// Runs `body` with a new cursor over a database, without a position, that can also remove
  /// (`mdb_cursor_open`).
  @inlinable
  public func withCursor<R: ~Copyable>(
    in database: Database = .main, _ body: (borrowing Cursor) throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    try body(try Cursor(transaction: handle, database: database, writer: owner))
  }

  /// The size of a database (`mdb_stat`).
  public func statistics(of database: Database = .main) throws(LMDBError) -> Statistics {
    try handle.statistics(of: database)
  }

  // MARK: - Writing

  /// Stores a value, replacing any present one (`mdb_put`).
  ///
  /// - Throws: `.badValueSize` if the key is empty or longer than ``Environment/maxKeySize``; nothing has changed then.
  ///   After `.mapFull` and others the transaction is dead.
  public func put(
    _ value: UnsafeRawBufferPointer, forKey key: UnsafeRawBufferPointer, in database: Database = .main
  ) throws(LMDBError) {
    try control.pointee.writer.checkNotDoomed(.put)
    let status = unsafe handle.put(value, forKey: key, in: database)
    guard status == MDB_SUCCESS else { throw owner.writeError(status, .put) }
  }

  /// Stores a value of `size` bytes if the key is absent, or if `existing` agrees to replace the present one.
  ///
  /// Searches the tree once, and often not at all for ascending keys (`mdb_cursor_put` with `MDB_NOOVERWRITE`, then
  /// again at the cursor's position; `MDB_RESERVE`).
  ///
  /// - Parameters:
  ///   - existing: Receives the present value, valid until it returns, and decides whether to replace it.
  ///   - fill: Receives the new value's memory in the page and must write every byte. Called immediately, at most once.
  /// - Returns: Whether the key existed.
  /// - Throws: As ``put(_:forKey:in:)``.
  public func upsert(
    forKey key: UnsafeRawBufferPointer, size: Int, in database: Database = .main,
    existing: (UnsafeRawBufferPointer) -> Bool, fill: (UnsafeMutableRawBufferPointer) -> Void
  ) throws(LMDBError) -> Bool {
    try control.pointee.writer.checkNotDoomed(.cursorPut)
    guard database == .main else {
      let cursor = try handle.openCursor(database)
      defer { unsafe cursor.close() }
      return try unsafe upsert(cursor, key, size, existing, fill)
    }
    return try unsafe upsert(control.pointee.writer.mainCursor(handle), key, size, existing, fill)
  }

  private func upsert(
    _ cursor: CursorHandle, _ key: UnsafeRawBufferPointer, _ size: Int,
    _ existing: (UnsafeRawBufferPointer) -> Bool, _ fill: (UnsafeMutableRawBufferPointer) -> Void
  ) throws(LMDBError) -> Bool {
    var (status, value) = unsafe cursor.put(key, size: size, flags: MDB_NOOVERWRITE)
    let exists = status == MDB_KEYEXIST
    if exists {
      guard unsafe existing(UnsafeRawBufferPointer(value)) else { return true }
      // Not MDB_CURRENT: 0.9.24 ignores it with MDB_RESERVE, and a plain put tries the cursor's page first anyway.
      unsafe (status, value) = cursor.put(key, size: size, flags: 0)
    }
    guard status == MDB_SUCCESS else { throw owner.writeError(status, .cursorPut) }
    unsafe fill(value)
    return exists
  }

  /// Removes a key (`mdb_del`). Returns whether it existed.
  public func remove(forKey key: UnsafeRawBufferPointer, in database: Database = .main) throws(LMDBError) -> Bool {
    try control.pointee.writer.checkNotDoomed(.del)
    let status = unsafe handle.remove(key, in: database)
    if status == MDB_NOTFOUND { return false }
    guard status == MDB_SUCCESS else { throw owner.writeError(status, .del) }
    return true
  }

  /// Removes every key of a database (`mdb_drop`).
  public func removeAll(in database: Database = .main) throws(LMDBError) {
    try control.pointee.writer.checkNotDoomed(.drop)
    let status = handle.drop(database)
    guard status == MDB_SUCCESS else { throw owner.writeError(status, .drop) }
  }

  // MARK: - Ending

  /// Publishes the changes (`mdb_txn_commit`) and flushes them according to the environment's sync mode.
  ///
  /// - Throws: `.badTransaction` if a change failed before; `.noSpace` and others. The transaction ends in
  ///   any case, and none of its changes is visible if this throws.
  public consuming func commit() throws(LMDBError) {
    hasEnded = true
    try owner.commitWrite(handle)
  }

  /// Discards the changes (`mdb_txn_abort`).
  public consuming func abort() {}
}

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
      control.pointee.writer.begin()
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
  func beginAsWriter(flags: Int32) throws(LMDBError) -> TransactionHandle {
    // Another process may grow the map again in between, so retry a limited number of times.
    for _ in 0..<16 {
      do throws(LMDBError) {
        return try handle.begin(flags: flags)
      } catch {
        guard error.status == MDB_MAP_RESIZED else { throw error }
        try adoptMapSizeAsWriter()
      }
    }
    throw LMDBError(status: MDB_MAP_RESIZED, operation: .txnBegin)
  }

  /// Commits and frees the transaction, and releases the write lock even on failure.
  func commitWrite(_ transaction: TransactionHandle) throws(LMDBError) {
    checkWriterThread()
    defer {
      locks?.releaseWriter()
      unlockWriter()
    }
    control.pointee.writer.closeCursor()
    if control.pointee.writer.isDoomed {
      unsafe transaction.abort()
      throw LMDBError(status: MDB_BAD_TXN, operation: .txnCommit)
    }
    do throws(LMDBError) { try unsafe transaction.commit() } catch {
      throw LMDBError(status: ofFullDisk(error.status), operation: .txnCommit)
    }
  }

  /// Aborts and frees the transaction, and releases the write lock.
  func abortWrite(_ transaction: TransactionHandle) {
    checkWriterThread()
    defer {
      locks?.releaseWriter()
      unlockWriter()
    }
    control.pointee.writer.closeCursor()
    unsafe transaction.abort()
  }

  /// The error for a failed change. Dooms the transaction unless the change was refused up front.
  func writeError(_ status: Int32, _ operation: FaultInjection.Call) -> LMDBError {
    switch status {
    case MDB_BAD_VALSIZE, MDB_NOTFOUND, EINVAL: break
    default: control.pointee.writer.isDoomed = true
    }
    return LMDBError(status: ofFullDisk(status), operation: operation)
  }

  /// LMDB returns `EIO` for a write that a full disk cut short. A failing device has free space.
  private func ofFullDisk(_ status: Int32) -> Int32 {
    guard status == EIO, let place else { return status }
    do throws(SystemError) { return try place.freeSpace() < 1 << 16 ? ENOSPC : status } catch { return status }
  }

  /// Traps on another thread than the transaction's: LMDB's mutex would stay locked in all processes.
  private func checkWriterThread() {
    precondition(
      control.pointee.writerThread.load(ordering: .relaxed) == PlatformThread.current,
      "A write transaction must end on the thread that began it.")
  }
}
