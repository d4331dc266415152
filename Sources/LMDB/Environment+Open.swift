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
    try open(directory: directory, options: options, exactly: false)
  }

  /// The same, but an environment of this process with the same data file and another lock file is not handed out: its
  /// lock file was deleted, and this makes a new one.
  ///
  /// - Parameter excludingWriters: Whether nobody may be writing meanwhile. A new lock file learns the number of the last
  ///   transaction from the data file; one that another process commits with the old lock file at that moment would be
  ///   unknown to it, and be overwritten. Throws `.lockTimeout` where a writer does not end.
  package static func openAnew(
    directory: String, options: Options, excludingWriters: Bool = false
  ) throws(LMDBError) -> Environment {
    guard excludingWriters, let descriptor = try Platform.openFile(directory + "/data.mdb", forWriting: true) else {
      return try open(directory: directory, options: options, exactly: true)
    }
    // With its end the lock goes too.
    defer { Platform.close(descriptor) }
    let locks = FileLocks(descriptor: descriptor)
    guard try locks.takeWriter(within: options.waits.otherProcesses) else {
      throw lockTimeout(locks, "Environment.open")
    }
    return try open(directory: directory, options: options, exactly: true)
  }

  private static func open(directory: String, options: Options, exactly: Bool) throws(LMDBError) -> Environment {
    guard options.readerPoolSize > 0, options.mapSize > 0, options.maxReaders > 0 else {
      throw LMDBError(
        code: .invalidArgument, operation: "Environment.open",
        message: "mapSize, maxReaders and readerPoolSize must be positive.")
    }
    let path = try Platform.canonicalPath(directory)
    var backoff = Backoff(limit: options.waits.close)
    while true {
      switch try findOrCreate(path, options, exactly) {
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
  private static func findOrCreate(
    _ path: String, _ options: Options, _ exactly: Bool
  ) throws(LMDBError) -> Registry.Match {
    let (match, isConflict) = try lockedFindOrCreate(path, options, exactly)
    // Thrown here, since letting go of the last reference under the registry's lock would wait for that lock.
    if isConflict {
      throw LMDBError(code: .otherEnvironmentOptions, operation: "Environment.open")
    }
    return match
  }

  private static func lockedFindOrCreate(
    _ path: String, _ options: Options, _ exactly: Bool
  ) throws(LMDBError) -> (Registry.Match, isConflict: Bool) {
    Registry.lock()
    defer { Registry.unlock() }
    let data = try Platform.identity(ofFileAt: path + "/data.mdb")
    let lockFile = try Platform.identity(ofFileAt: path + "/lock.mdb")
    let match = Registry.find(data: data, lockFile: lockFile, exactly: exactly)
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
    let opened = try OpenFiles(path, options)
    do throws(LMDBError) {
      let metaPages = try MetaPages(descriptor: opened.descriptor, pageSize: opened.pageSize)
      let environment = Environment(opened, directory: path, options: options, metaPages: metaPages)
      Registry.insert(Registry.Entry(environment: environment, control: environment.control, files: opened.files))
      return environment
    } catch {
      opened.close()
      throw error
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
