import CLMDB

/// A C environment that was just opened, with what belongs to its files.
struct OpenFiles {
  /// The `MDB_env`.
  let handle: OpaquePointer
  /// LMDB's, of the data file.
  let descriptor: Int32
  let locks: FileLocks
  let files: EnvironmentFiles
  /// Bytes.
  let pageSize: Int

  /// Opens the files in a directory, or makes them. The registry's lock is held.
  init(_ path: String, _ options: Environment.Options) throws(LMDBError) {
    if !options.isReadOnly { try Platform.reserveLockFile(at: path + "/lock.mdb", options) }
    let handle = try FileSizeSignal.blocked { () throws(LMDBError) in try Self.openHandle(path, options) }
    do throws(LMDBError) {
      var descriptor: Int32 = -1
      var status = Calls.descriptor(handle, &descriptor)
      guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .envGetDescriptor) }
      // LMDB does so for its others, and leaves this one to be inherited.
      try Platform.closeOnExec(descriptor)
      let data = try Platform.identity(ofDescriptor: descriptor)
      let locks = try FileLocks(path + "/data.mdb", data, options)
      do throws(LMDBError) {
        try Environment.changingReaderTable(locks, options) { () throws(LMDBError) in
          try Self.openMainDatabase(handle)
        }
        var statistics = MDB_stat()
        status = Calls.statistics(handle, &statistics)
        guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .envStat) }
        files = EnvironmentFiles(data: data, lockFile: try Platform.identity(ofFileAt: path + "/lock.mdb"))
        pageSize = Int(statistics.ms_psize)
      } catch {
        locks.close()
        throw error
      }
      self.handle = handle
      self.descriptor = descriptor
      self.locks = locks
    } catch {
      Calls.close(handle)
      throw error
    }
  }

  /// For who does not take them over.
  func close() {
    Calls.close(handle)
    locks.close()
  }

  /// `mdb_env_open`, with a smaller map if there is not enough address space.
  private static func openHandle(_ path: String, _ options: Environment.Options) throws(LMDBError) -> OpaquePointer {
    var size = options.roundedMapSize
    while true {
      do throws(LMDBError) {
        return try openHandle(path, options, mapSize: size)
      } catch {
        guard error.code == .outOfMemory, error.operation == Calls.Name.envOpen.rawValue,
          size / 2 >= Environment.Options.leastMapSize
        else { throw error }
        size = Environment.Options.rounded(size / 2)
      }
    }
  }

  private static func openHandle(
    _ path: String, _ options: Environment.Options, mapSize: Int
  ) throws(LMDBError) -> OpaquePointer {
    var created: OpaquePointer?
    let status = Calls.createEnvironment(&created, directory: path)
    guard status == MDB_SUCCESS, let handle = created else { throw LMDBError(status: status, operation: .envCreate) }
    do throws(LMDBError) {
      func check(_ status: Int32, _ name: Calls.Name) throws(LMDBError) {
        guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: name) }
      }
      try check(Calls.setMapSize(handle, mapSize, directory: path), .envSetMapSize)
      try check(Calls.setMaxReaders(handle, options.maxReaders, directory: path), .envSetMaxReaders)
      if options.maxDatabases > 0 {
        try check(Calls.setMaxDatabases(handle, options.maxDatabases, directory: path), .envSetMaxDatabases)
      }
      try check(Calls.open(handle, directory: path, flags: options.flags, mode: options.fileMode), .envOpen)
      return handle
    } catch {
      // Also after a failed mdb_env_open: it does not free the environment.
      Calls.close(handle)
      throw error
    }
  }

  /// Sets the main database up (`mdb_dbi_open` without a name), once for all transactions.
  private static func openMainDatabase(_ handle: OpaquePointer) throws(LMDBError) {
    var opened: OpaquePointer?
    var status = Calls.begin(handle, flags: UInt32(MDB_RDONLY), &opened)
    if status == MDB_READERS_FULL {
      // Readers of processes that died keep their slots until somebody looks.
      var dead: Int32 = 0
      let checked = Calls.checkReaders(handle, &dead)
      guard checked == MDB_SUCCESS else { throw LMDBError(status: checked, operation: .readerCheck) }
      status = Calls.begin(handle, flags: UInt32(MDB_RDONLY), &opened)
    }
    guard status == MDB_SUCCESS, let transaction = opened else {
      throw LMDBError(status: status, operation: .txnBegin)
    }
    // Nothing was changed, and an abort cannot fail. The main database's handle is not undone by it.
    defer { Calls.abort(transaction) }
    var database: UInt32 = 0
    status = Calls.openDatabase(transaction, name: nil, flags: 0, &database)
    guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .dbiOpen) }
    guard database == Database.main.handle else {
      throw LMDBError(code: .incompatible, operation: Calls.Name.dbiOpen.rawValue)
    }
  }
}
