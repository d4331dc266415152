import CLMDB

extension Environment {
  /// Opens the environment in a directory, which must exist, or hands out the one this process has open already.
  ///
  /// Paths that lead to the same file, by links or otherwise, give the same object. Every call has to be balanced by
  /// a ``close()``. Opening an environment again after its last close brings the same object back to life if it still
  /// has running operations or references.
  ///
  /// The C functions behind it: `mdb_env_create`, `mdb_env_set_mapsize`, `mdb_env_set_maxreaders`,
  /// `mdb_env_set_maxdbs`, `mdb_env_open`.
  ///
  /// - Throws: `.otherEnvironmentOptions` if it is open with another sync mode, read-only or not, or for fewer
  ///   databases; `.fileReplaced` if the data file was deleted or replaced while this process has it open;
  ///   `.invalid`, `.versionMismatch` and others for files that LMDB refuses.
  public static func open(directory: String, options: Options = Options()) throws(LMDBError) -> Environment {
    guard options.readerPoolSize > 0, options.mapSize > 0, options.maxReaders > 0 else {
      throw LMDBError(
        code: .invalidArgument, operation: "Environment.open",
        message: "mapSize, maxReaders and readerPoolSize must be positive.")
    }
    let path = try Platform.canonicalPath(directory)
    var backoff = Backoff(limit: options.waits.close)
    while true {
      switch try findOrCreate(path, options) {
      case .none:
        continue
      case .open(let environment):
        return environment
      case .replaced:
        throw LMDBError(code: .fileReplaced, operation: "Environment.open")
      case .goingAway:
        guard backoff.pause() else {
          throw LMDBError(
            code: .busy, operation: "Environment.open",
            message: "Another thread did not finish closing the environment. Retry later.")
        }
      }
    }
  }

  /// One attempt.
  private static func findOrCreate(_ path: String, _ options: Options) throws(LMDBError) -> Registry.Match {
    let (match, isConflict) = try lockedFindOrCreate(path, options)
    // Thrown here, since letting go of the last reference under the registry's lock would wait for that lock.
    if isConflict {
      throw LMDBError(code: .otherEnvironmentOptions, operation: "Environment.open")
    }
    return match
  }

  private static func lockedFindOrCreate(
    _ path: String, _ options: Options
  ) throws(LMDBError) -> (Registry.Match, isConflict: Bool) {
    Registry.lock()
    defer { Registry.unlock() }
    let data = try Platform.identity(ofFileAt: path + "/data.mdb")
    let lockFile = try Platform.identity(ofFileAt: path + "/lock.mdb")
    let match = Registry.find(data: data, lockFile: lockFile)
    switch match {
    case .open(let environment):
      guard !environment.options.contradicts(options) else { return (match, true) }
      environment.retainOpener()
      return (match, false)
    case .none:
      return (.open(try create(path, options)), false)
    case .goingAway, .replaced:
      return (match, false)
    }
  }

  /// Opens the files. The registry's lock is held.
  private static func create(_ path: String, _ options: Options) throws(LMDBError) -> Environment {
    if !options.isReadOnly { try Platform.reserveLockFile(at: path + "/lock.mdb", options) }
    let handle = try FileSizeSignal.blocked { () throws(LMDBError) in try openHandle(path, options) }
    do throws(LMDBError) {
      try openMainDatabase(handle)
      var statistics = MDB_stat()
      var status = Calls.statistics(handle, &statistics)
      guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .envStat) }
      var descriptor: Int32 = -1
      status = Calls.descriptor(handle, &descriptor)
      guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .envGetDescriptor) }
      // LMDB does so for its others, and leaves this one to be inherited.
      try Platform.closeOnExec(descriptor)
      let data = try Platform.identity(ofDescriptor: descriptor)
      let lockFile = try Platform.identity(ofFileAt: path + "/lock.mdb")
      let metaPages = try MetaPages(descriptor: descriptor, pageSize: Int(statistics.ms_psize))

      let environment = Environment(handle: handle, directory: path, options: options, metaPages: metaPages)
      Registry.insert(
        Registry.Entry(
          environment: environment, control: environment.control, data: data, lockFile: lockFile))
      return environment
    } catch {
      Calls.close(handle)
      throw error
    }
  }

  /// `mdb_env_open`, with a smaller map if there is not enough address space.
  private static func openHandle(_ path: String, _ options: Options) throws(LMDBError) -> OpaquePointer {
    var size = options.roundedMapSize
    while true {
      do throws(LMDBError) {
        return try openHandle(path, options, mapSize: size)
      } catch {
        guard error.code == .outOfMemory, error.operation == Calls.Name.envOpen.rawValue,
          size / 2 >= Options.leastMapSize
        else { throw error }
        size = Options.rounded(size / 2)
      }
    }
  }

  private static func openHandle(_ path: String, _ options: Options, mapSize: Int) throws(LMDBError) -> OpaquePointer {
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

  /// Counts one more opener. The registry's lock is held.
  private func retainOpener() {
    if openers == 0 {
      control.pointee.lower(.closed)
    }
    openers += 1
  }
}

extension Environment.Options {
  var flags: UInt32 {
    var flags = MDB_NOTLS
    switch syncMode {
    case .full: break
    case .noMetaSync: flags |= MDB_NOMETASYNC
    case .noSync: flags |= MDB_NOSYNC
    }
    if isReadOnly {
      flags |= MDB_RDONLY
    }
    return UInt32(flags)
  }

  var roundedMapSize: Int {
    Self.rounded(mapSize)
  }

  /// Rounds up to whole pages.
  static func rounded(_ size: Int) -> Int {
    let page = Platform.pageSize
    return size > Int.max - page ? Int.max / page * page : (size + page - 1) / page * page
  }

  /// Whether an environment open with these options cannot be handed to somebody who asks for `other`.
  func contradicts(_ other: Environment.Options) -> Bool {
    syncMode != other.syncMode || isReadOnly != other.isReadOnly || maxDatabases < other.maxDatabases
  }
}
