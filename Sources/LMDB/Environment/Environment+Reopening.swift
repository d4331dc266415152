import CLMDB
import Platform
import Synchronization

extension Environment {
  /// Closes the C environment and opens it again, while nobody reads or writes.
  ///
  /// For one that has failed for good (`.panic`): LMDB refuses everything once it could not write a meta page, also when
  /// the disk's fault is long over. What was committed is there as before. Running operations are waited for, up to a
  /// quarter of a second, and new ones wait for this. Positions read from now on are greater than all before: a
  /// transaction that failed at its end may have been seen for a moment.
  ///
  /// - Throws: `.busy` if a snapshot or a write transaction did not end in time: nothing has changed then. What opening
  ///   throws; then every operation throws `.panic` until this is called again and succeeds. `.corrupted` after
  ///   ``breakOff()``.
  package func reopen() throws(LMDBError) {
    let operation = "Environment.reopen"
    try control.pointee.checkUsable(operation, except: .broken)
    let busy = LMDBError(
      code: .busy, operation: operation,
      message: "The environment failed fatally, and a transaction of it does not end. End it; it is tried again.")
    guard control.pointee.writerThread.load(ordering: .relaxed) != PlatformThread.current else { throw busy }
    var backoff = Backoff(limit: Int64(clamping: options.waits.adoption))
    while !writerMutex.tryLock() {
      guard backoff.pause() else { throw busy }
    }
    defer { writerMutex.unlock() }
    try whileQuiet(&backoff, busy: busy, mends: true) { () throws(LMDBError) in
      guard let place else { throw LMDBError(code: .closed, operation: operation) }
      Registry.withLock { $0.setBusy(control, true) }
      defer { Registry.withLock { $0.setBusy(control, false) } }
      // First the one and then the other: closing a file drops every lock that the process has on it.
      closeHandle()
      isLost = true
      control.pointee.raise(.broken)
      try take(OpenFiles(place, options))
      control.pointee.generation.wrappingAdd(Control.nextGeneration, ordering: .releasing)
      control.pointee.lower(.broken)
    }
  }

  private func take(_ opened: OpenFiles) throws(LMDBError) {
    do throws(LMDBError) {
      guard opened.pageSize == metaPages.pageSize else {
        throw LMDBError(code: .fileReplaced, operation: "Environment.reopen")
      }
      try openDatabases(opened.handle)
      try metaPages.remap(descriptor: opened.descriptor)
    } catch {
      opened.close()
      throw error
    }
    handle = opened.handle
    isLost = false
    locks = opened.locks
    Registry.withLock { $0.update(control, opened.files) }
  }

  /// The named databases, in the order in which they were opened: so they have the handles that they had.
  private func openDatabases(_ handle: OpaquePointer) throws(LMDBError) {
    if databases.isEmpty { return }
    var begun: OpaquePointer?
    var status = Calls.begin(handle, flags: UInt32(MDB_RDONLY), &begun)
    guard status == MDB_SUCCESS, let transaction = begun else { throw LMDBError(status: status, operation: .txnBegin) }
    for (name, database) in databases.sorted(by: { $0.value.handle < $1.value.handle }) {
      var reopened: UInt32 = 0
      status = Calls.openDatabase(transaction, name: name, flags: 0, &reopened)
      if status == MDB_SUCCESS, reopened == database.handle { continue }
      Calls.abort(transaction)
      throw status == MDB_SUCCESS
        ? LMDBError(code: .incompatible, operation: Calls.Name.dbiOpen.rawValue)
        : LMDBError(status: status, operation: .dbiOpen)
    }
    // An abort would close the handles again.
    status = Calls.commit(transaction)
    guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .txnCommit) }
  }
}
