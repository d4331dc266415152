import CLMDB
package import Platform

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
  /// No link is followed to the files themselves, and nothing but regular files of their own is opened.
  ///
  /// - Throws: `.foreignFile` if a file is a link or no regular file, or has other names; `.otherEnvironmentOptions` if it
  ///   is open with another sync mode, read-only or not, or for fewer databases; `.fileReplaced` if the data file was
  ///   deleted or replaced while this process has it open; `.invalid`, `.versionMismatch` and others for files that LMDB
  ///   refuses.
  public static func open(directory: String, options: Options = Options()) throws(LMDBError) -> Environment {
    try open(find(directory), options: options, exactly: false)
  }

  /// The same for a directory that is open.
  package static func open(_ directory: Directory, options: Options = Options()) throws(LMDBError) -> Environment {
    try open(directory, options: options, exactly: false)
  }

  /// The same, but an environment of this process with the same data file and another lock file is not handed out: its
  /// lock file was deleted, and this makes a new one.
  ///
  /// - Parameter excludingWriters: Whether nobody may be writing meanwhile. A new lock file learns the number of the last
  ///   transaction from the data file; one that another process commits with the old lock file at that moment would be
  ///   unknown to it, and be overwritten. Throws `.lockTimeout` where a writer does not end.
  package static func openAnew(
    _ directory: Directory, options: Options, excludingWriters: Bool = false
  ) throws(LMDBError) -> Environment {
    // With the end of the object the lock goes, too.
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

  /// What one attempt came to.
  private enum Attempt {
    case open(Environment)
    /// It is open with other options.
    case conflict(Environment)
    /// The files are there for this thread to open.
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
      // A conflicting one is let go of after the registry's lock, which its end would wait for.
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

  /// Opens the files. Returns `nil` if they are not those any more that were looked for in the registry.
  private static func create(
    _ directory: Directory, _ options: Options, _ number: Int, _ data: FileIdentity?, _ lockFile: FileIdentity?
  ) throws(LMDBError) -> Environment? {
    do throws(LMDBError) {
      if try identities(in: directory) == (data, lockFile),
        let environment = try complete(number, OpenFiles(directory, options), options)
      {
        return environment
      }
      // What was opened is closed again by now: only then may somebody else open it.
      Registry.withLock { $0.cancel(number) }
      return nil
    } catch {
      Registry.withLock { $0.cancel(number) }
      throw error
    }
  }

  /// Registers what was opened. Returns `nil`, and has closed it, if another environment of this process had the lock
  /// file until now.
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
    // The new lock file may have got the inode of a deleted one that another thread has closed a moment ago. Or the file
    // itself was moved here, and closing it took the locks of this environment too. Either way the other one has to be
    // gone before this one is closed and opened again.
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
      // Somebody has moved the lock file of an open environment here meanwhile. It must not be closed any more.
      environment.isLost = true
      throw LMDBError(code: .fileReplaced, operation: "Environment.open")
    }
  }

  private static var busy: LMDBError {
    LMDBError(
      code: .busy, operation: "Environment.open",
      message: "Another thread is opening or closing the environment, and does not end. Retry later.")
  }

  /// Counts one more opener. The registry's lock is held.
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

  /// Rounds up to whole pages.
  static func rounded(_ size: Int) -> Int {
    let page = MemoryMap.pageSize
    return size > Int.max - page ? Int.max / page * page : (size + page - 1) / page * page
  }

  /// Whether an environment open with these options cannot be handed to somebody who asks for `other`.
  func contradicts(_ other: Environment.Options) -> Bool {
    syncMode != other.syncMode || isReadOnly != other.isReadOnly || usesLockFile != other.usesLockFile
      || maxDatabases < other.maxDatabases
  }
}
