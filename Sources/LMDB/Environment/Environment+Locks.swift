import Platform

extension Environment {
  /// Takes the interprocess writer lock. The caller holds `writerMutex`.
  ///
  /// - Throws: `.lockTimeout` after `options.waits.otherProcesses`.
  func takeWriterLock(_ operation: String) throws(LMDBError) {
    guard let locks else { throw LMDBError(code: .panic, operation: operation) }
    guard try !locks.takeWriter(within: options.waits.otherProcesses) else { return }
    throw Self.lockTimeout(locks, operation)
  }

  /// Keeps other processes from writing until ``releaseWriterLock(for:)``. This process's transactions continue.
  ///
  /// - Throws: `.lockTimeout`; `.busy` in a write transaction.
  package func keepWriterLock(for owner: AnyObject) throws(LMDBError) {
    try lockWriter("Environment.keepWriterLock")
    defer { unlockWriter() }
    try takeWriterLock("Environment.keepWriterLock")
    locks?.keepWriter(for: owner)
  }

  /// Does nothing if this owner does not keep the lock.
  package func releaseWriterLock(for owner: AnyObject) {
    writerMutex.lock()
    defer { writerMutex.unlock() }
    locks?.endKeepingWriter(for: owner)
  }

  /// Runs `body`, in which LMDB takes its reader table's mutex, while no other process does.
  func changingReaderTable<R>(_ body: () -> R) throws(LMDBError) -> R {
    guard let locks else { throw LMDBError(code: .panic, operation: "mdb_txn_begin") }
    readerTableMutex.lock()
    defer { readerTableMutex.unlock() }
    return try Self.changingReaderTable(locks, options) { () throws(LMDBError) in body() }
  }

  /// For an environment that is not shared yet.
  static func changingReaderTable<R>(
    _ locks: FileLocks, _ options: Options, _ body: () throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    // The file may be read-only; then there are no locks to wait for.
    if options.isReadOnly { return try body() }
    guard try locks.takeReaderTable(within: options.waits.otherProcesses) else {
      throw lockTimeout(locks, "mdb_txn_begin")
    }
    defer { locks.releaseReaderTable() }
    return try body()
  }

  static func lockTimeout(_ locks: FileLocks, _ operation: String) -> LMDBError {
    let remedy: String
    // The holder only improves the message.
    let holder: LockHolder?
    do throws(LMDBError) { holder = try locks.holder() } catch { holder = nil }
    if let holder {
      remedy = "Another process holds a lock of the file and does not let go: \(holder)."
    } else {
      remedy =
        "Another process holds a lock of the file and does not let go. Look for a suspended one (state T) among "
        + "those that use it, and continue it or end it."
    }
    return LMDBError(code: .lockTimeout, operation: operation, message: remedy)
  }
}
