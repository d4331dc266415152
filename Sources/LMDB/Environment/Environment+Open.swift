import CLMDB
package import Platform

extension Environment {
  /// Opens the environment in an existing directory, or returns the one this process already has open.
  ///
  /// Paths to the same file, through links or otherwise, give the same object. Balance each call with a ``close()``.
  /// Opening an environment again after its last close revives the object if it still has running operations or
  /// references.
  ///
  /// Uses `mdb_env_create`, `mdb_env_set_mapsize`, `mdb_env_set_maxreaders`, `mdb_env_set_maxdbs` and `mdb_env_open`.
  ///
  /// Links to the files are not followed, and only regular files with a single name are opened.
  ///
  /// - Throws: `.foreignFile` if a file is a link, not a regular file, or has other names; `.otherEnvironmentOptions`
  ///   if it is open with another sync mode, another access mode, or fewer databases; `.fileReplaced` if the data file
  ///   was deleted or replaced while open in this process; `.invalid`, `.versionMismatch` and others for files that
  ///   LMDB refuses.
  public static func open(directory: String, options: Options = Options()) throws(LMDBError) -> Environment {
    try open(find(directory), options: options, exactly: false)
  }

  /// Opens the environment in an open directory.
  package static func open(_ directory: Directory, options: Options = Options()) throws(LMDBError) -> Environment {
    try open(directory, options: options, exactly: false)
  }

  /// Opens the environment like ``open(directory:options:)``, but ignores one of this process whose lock file differs:
  /// that lock file was deleted, and this call makes a new one.
  ///
  /// - Parameter excludingWriters: Whether to lock out writers, and throw `.lockTimeout` if one does not end. A new
  ///   lock file takes the last transaction's number from the data file; a simultaneous commit through the old lock
  ///   file would go unnoticed and be overwritten.
  package static func openAnew(
    _ directory: Directory, options: Options, excludingWriters: Bool = false
  ) throws(LMDBError) -> Environment {
    // The lock ends with the object.
    guard excludingWriters, let locks = try FileLocks(directory: directory) else {
      return try open(directory, options: options, exactly: true)
    }
    guard try locks.takeWriter(within: options.waits.otherProcesses) else {
      throw lockTimeout(locks, "Environment.open")
    }
    defer { locks.releaseWriter() }
    return try open(directory, options: options, exactly: true)
  }

  package static func openAnew(
    directory: String, options: Options, excludingWriters: Bool = false
  ) throws(LMDBError) -> Environment {
    try openAnew(find(directory), options: options, excludingWriters: excludingWriters)
  }

  private static func find(_ path: String) throws(LMDBError) -> Directory {
    try system { () throws(SystemError) in try Directory(path: path) }
  }

  /// The result of one attempt.
  private enum Attempt {
    case open(Environment)
    /// Open with other options.
    case conflict(Environment)
    /// The files are reserved for this thread to open.
    case reserved(Int)
    case busy
    case replaced
  }

  private static func open(_ directory: Directory, options: Options, exactly: Bool) throws(LMDBError) -> Environment {
    if let complaint = options.complaint {
      throw LMDBError(code: .invalidArgument, operation: "Environment.open", message: complaint)
    }
    var backoff = Backoff(limit: Int64(clamping: options.waits.close))
    while true {
      let (data, lockFile) = try identities(in: directory)
      // A conflicting environment is released after the registry's lock, which its `deinit` takes.
      let attempt = Registry.withLock { registry -> Attempt in
        switch registry.find(directory: directory.identity, data: data, lockFile: lockFile, exactly: exactly) {
        case .none: return .reserved(registry.reserve(directory.identity))
        case .busy: return .busy
        case .replaced: return .replaced
        case .open(let environment):
          if environment.options.contradicts(options) { return .conflict(environment) }
          environment.retainOpener()
          return .open(environment)
        }
      }
      switch attempt {
      case .open(let environment):
        return environment
      case .conflict:
        throw LMDBError(code: .otherEnvironmentOptions, operation: "Environment.open")
      case .replaced:
        throw LMDBError(code: .fileReplaced, operation: "Environment.open")
      case .busy:
        guard backoff.pause() else { throw busy }
      case .reserved(let number):
        if let environment = try create(directory, options, number, data, lockFile) { return environment }
      }
    }
  }

  private static func identities(
    in directory: Directory
  ) throws(LMDBError) -> (data: FileIdentity?, lockFile: FileIdentity?) {
    try system { () throws(SystemError) in
      (try directory.identity(of: OpenFiles.dataFile), try directory.identity(of: OpenFiles.lockFile))
    }
  }

  /// Opens the files. Returns `nil` if they are not the ones the registry was searched for.
  private static func create(
    _ directory: Directory, _ options: Options, _ number: Int, _ data: FileIdentity?, _ lockFile: FileIdentity?
  ) throws(LMDBError) -> Environment? {
    do throws(LMDBError) {
      if try identities(in: directory) == (data, lockFile),
        let environment = try complete(number, OpenFiles(directory, options), options)
      {
        return environment
      }
      // The files are closed again by now, so others may open them.
      Registry.withLock { $0.cancel(number) }
      return nil
    } catch {
      Registry.withLock { $0.cancel(number) }
      throw error
    }
  }

  /// Registers opened files. Closes them and returns `nil` if another environment of this process used the lock file
  /// until now.
  private static func complete(
    _ number: Int, _ opened: OpenFiles, _ options: Options
  ) throws(LMDBError) -> Environment? {
    let metaPages: MetaPages
    do throws(LMDBError) {
      metaPages = try MetaPages(descriptor: opened.descriptor, pageSize: opened.pageSize)
    } catch {
      opened.close()
      throw error
    }
    let environment = Environment(opened, options: options, metaPages: metaPages)
    var use = Registry.withLock { $0.complete(number, environment, opened.files) }
    if use == .none { return environment }
    // The new lock file may have the inode of a deleted one that another thread just closed, or the file was moved here
    // and closing it dropped this environment's locks, too. In both cases the other environment must be gone before
    // this one is closed and reopened.
    var backoff = Backoff(limit: Int64(clamping: options.waits.close))
    while use == .busy, backoff.pause() {
      use = Registry.withLock { $0.use(of: opened.files.lockFile, besides: number) }
    }
    switch use {
    case .none:
      return nil
    case .busy:
      environment.isLost = true
      throw busy
    case .open:
      // The lock file of an open environment was moved here. It must not be closed any more.
      environment.isLost = true
      throw LMDBError(code: .fileReplaced, operation: "Environment.open")
    }
  }

  private static var busy: LMDBError {
    LMDBError(
      code: .busy, operation: "Environment.open",
      message: "Another thread is opening or closing the environment, and does not end. Retry later.")
  }

  /// The caller holds the registry's lock.
  private func retainOpener() {
    if openers == 0 { control.pointee.lower(.closed) }
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
    if isReadOnly { flags |= MDB_RDONLY }
    if !usesLockFile { flags |= MDB_NOLOCK }
    return UInt32(flags)
  }

  var roundedMapSize: Int {
    Self.rounded(mapSize)
  }

  static func rounded(_ size: Int) -> Int {
    let page = MemoryMap.pageSize
    return size > Int.max - page ? Int.max / page * page : (size + page - 1) / page * page
  }

  /// Whether an environment with these options cannot serve a request for `other`.
  func contradicts(_ other: Environment.Options) -> Bool {
    syncMode != other.syncMode || isReadOnly != other.isReadOnly || usesLockFile != other.usesLockFile
      || maxDatabases < other.maxDatabases
  }
}
