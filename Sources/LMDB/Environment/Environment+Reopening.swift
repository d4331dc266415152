import CLMDB
import Platform
import Synchronization

extension Environment {
  /// Closes the C environment and opens it again while no transaction runs.
  ///
  /// Recovers from `.panic`: after a failed write of a meta page LMDB refuses everything, even once the disk works
  /// again. Committed data is kept. Waits up to a quarter of a second for running operations, and new ones wait
  /// meanwhile. Positions grow, because a transaction that failed at its end may have been visible briefly.
  ///
  /// - Throws: `.busy` if a snapshot or a write transaction did not end in time; nothing has changed then. The errors
  ///   of opening; then every operation throws `.panic` until a later call succeeds. `.corrupted` after ``breakOff()``.
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
      // Close before opening: closing a file drops every lock that the process has on it.
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

  /// Opens the named databases in their original order, so that their handles stay the same.
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
