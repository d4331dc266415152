import CLMDB
import Synchronization

extension Environment {
  /// Flushes committed transactions to disk (`mdb_env_sync`).
  ///
  /// - Parameter force: Flush even with ``SyncMode/noSync``.
  public func sync(force: Bool) throws(LMDBError) {
    try use("Environment.sync") { () throws(LMDBError) in
      let status = Calls.sync(handle, force: force)
      guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .envSync) }
    }
  }

  /// Frees the reader slots of dead processes (`mdb_reader_check`). Returns their number.
  public func checkReaders() throws(LMDBError) -> Int {
    try use("Environment.checkReaders") { () throws(LMDBError) in
      var dead: Int32 = 0
      let status = try changingReaderTable { Calls.checkReaders(handle, &dead) }
      guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .readerCheck) }
      return Int(dead)
    }
  }

  /// The environment's sizes and numbers (`mdb_env_info`, `mdb_env_stat`).
  public func info() throws(LMDBError) -> Info {
    try use("Environment.info") { () throws(LMDBError) in
      var information = MDB_envinfo()
      var status = Calls.information(handle, &information)
      guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .envInfo) }
      var statistics = MDB_stat()
      status = Calls.statistics(handle, &statistics)
      guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .envStat) }
      return Info(
        mapSize: information.me_mapsize, lastPageNumber: information.me_last_pgno,
        lastTransactionID: UInt64(truncatingIfNeeded: information.me_last_txnid),
        maxReaders: Int(information.me_maxreaders),
        readersInUse: Int(information.me_numreaders), pageSize: Int(statistics.ms_psize),
        depth: Int(statistics.ms_depth), branchPages: max(0, statistics.ms_branch_pages),
        leafPages: max(0, statistics.ms_leaf_pages), overflowPages: max(0, statistics.ms_overflow_pages),
        entries: max(0, statistics.ms_entries))
    }
  }

  /// Opens a named database, creating it if necessary (`mdb_dbi_open`).
  ///
  /// Waits for the write lock; the calling thread must not hold a write transaction. The handle is valid in all
  /// transactions that begin later, as long as the environment is open.
  ///
  /// - Throws: `.databasesFull` if there are more than ``Options/maxDatabases``; `.notFound` if the environment is
  ///   read-only and the database does not exist.
  public func openDatabase(named name: String) throws(LMDBError) -> Database {
    try lockWriter("Environment.openDatabase")
    defer { unlockWriter() }
    if let database = databases[name] {
      return database
    }
    if !options.isReadOnly { try takeWriterLock("Environment.openDatabase") }
    defer { if !options.isReadOnly { locks?.releaseWriter() } }
    let transaction = try beginAsWriter(flags: options.isReadOnly ? UInt32(MDB_RDONLY) : 0)
    var database: UInt32 = 0
    var status = Calls.openDatabase(
      transaction, name: name, flags: options.isReadOnly ? 0 : UInt32(MDB_CREATE), &database)
    guard status == MDB_SUCCESS else {
      Calls.abort(transaction)
      throw LMDBError(status: status, operation: .dbiOpen)
    }
    // Even when read-only: an abort would close the handle again.
    status = Calls.commit(transaction)
    guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .txnCommit) }
    databases[name] = Database(handle: database)
    return Database(handle: database)
  }

  /// Runs `body` while the environment cannot be closed and its map cannot move.
  func use<R>(_ operation: String, _ body: () throws(LMDBError) -> R) throws(LMDBError) -> R {
    var backoff = Backoff(limit: Int64(clamping: options.waits.read))
    while true {
      control.pointee.users.add(1, ordering: .sequentiallyConsistent)
      if control.pointee.current.isEmpty { break }
      control.pointee.users.subtract(1, ordering: .sequentiallyConsistent)
      try control.pointee.checkUsable(operation)
      guard backoff.pause() else { throw LMDBError(code: .busy, operation: operation) }
    }
    defer { control.pointee.users.subtract(1, ordering: .sequentiallyConsistent) }
    return try body()
  }
}
