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
  ///   was deleted or replaced while open in this process; `.invalid` and others for files that
  ///   LMDB refuses.
  public static func open(directory: String, options: Options = Options()) throws(LMDBError) -> Environment {
    try open(system { () throws(SystemError) in try Directory(path: directory) }, options: options, exactly: false)
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
          if !options.isBrief, environment.options.contradicts(options) {
            return environment.options.isBrief ? .busy : .conflict(environment)
          }
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
      (try directory.identity(of: EnvironmentFiles.dataName), try directory.identity(of: EnvironmentFiles.lockName))
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

/// A newly opened C environment with its file resources.
struct OpenFiles {
  let directory: Directory
  let handle: EnvironmentHandle
  /// LMDB's own descriptor of the data file.
  let descriptor: Int32
  let locks: FileLocks
  let files: EnvironmentFiles
  /// Bytes.
  let pageSize: Int

  /// Opens or creates the files in a directory. No other thread may be opening them or have the lock file open: see
  /// ``Registry``.
  init(_ directory: Directory, _ options: Environment.Options) throws(LMDBError) {
    self.directory = directory
    // LMDB follows links and opens any kind of file. It must end up with these files.
    let locks = try Self.openDataFile(directory, options)
    let data = try locks.identity()
    self.locks = locks
    // The reader table's file grows only while unmapped, so one process at a time opens it.
    let lockFile: FileIdentity?
    (handle, descriptor, lockFile, pageSize) = try Environment.changingReaderTable(locks, options) {
      () throws(LMDBError) in try Self.open(directory, options, data)
    }
    files = EnvironmentFiles(data: data, lockFile: lockFile)
  }

  private static func open(
    _ directory: Directory, _ options: Environment.Options, _ data: FileIdentity
  ) throws(LMDBError) -> (EnvironmentHandle, descriptor: Int32, lockFile: FileIdentity?, pageSize: Int) {
    let prepared = try prepareLockFile(directory, options)
    let handle = try openHandle(directory, options, mapSize: Environment.Options.rounded(options.mapSize))
    do throws(LMDBError) {
      let descriptor = try handle.descriptor()
      // LMDB sets this on its other descriptors, but lets this one be inherited.
      let flags = fcntl(descriptor, F_GETFD)
      guard flags >= 0, fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) == 0 else {
        throw LMDBError(status: currentErrno(), operation: "fcntl(F_SETFD)")
      }
      var opened = stat()
      guard unsafe fstat(descriptor, &opened) == 0 else { throw LMDBError(status: currentErrno(), operation: "fstat") }
      let lockFile = try statusOfLockFile(directory)?.identity
      guard FileIdentity(opened) == data, prepared == nil || prepared == lockFile else {
        throw LMDBError(code: .fileReplaced, operation: "Environment.open")
      }
      try openMainDatabase(handle)
      return (handle, descriptor, lockFile, try handle.info().main.pageSize)
    } catch {
      unsafe handle.close()
      throw error
    }
  }

  /// Closes files that were not handed on.
  func close() { unsafe handle.close() }

  // MARK: - Files

  /// Opens the data file, or creates an empty one, which LMDB treats as new. One that may only be read has no locks.
  private static func openDataFile(
    _ directory: Directory, _ options: Environment.Options
  ) throws(LMDBError) -> FileLocks {
    try system { () throws(SystemError) in
      let name = EnvironmentFiles.dataName
      if !options.isReadOnly { return FileLocks(try directory.create(name, requiresOneName: true)) }
      do throws(SystemError) {
        if let file = try directory.open(name, .writing, requiresOneName: true) { return FileLocks(file) }
      } catch {
        guard error.finding == nil, [EACCES, EPERM, EROFS].contains(error.errno) else { throw error }
        if let file = try directory.open(name, requiresOneName: true) { return FileLocks(file, canLock: false) }
      }
      throw SystemError("openat", directory.path(of: name), errno: ENOENT)
    }
  }

  /// Uses `stat` only: opening and closing the file would end the locks of an environment that has it open. Throws for
  /// foreign files; `nil` if there is none.
  private static func statusOfLockFile(_ directory: Directory) throws(LMDBError) -> FileStatus? {
    try system { () throws(SystemError) in try directory.statusOfOwnFile(EnvironmentFiles.lockName) }
  }

  /// Creates the lock file with all blocks allocated, if possible. LMDB creates it sparse, and writing to a hole of a
  /// mapped file on a full disk ends the process with SIGBUS.
  ///
  /// No environment of this process may have the file open: closing it drops LMDB's locks.
  ///
  /// - Returns: The file's identity; `nil` if LMDB must create it or can do without.
  private static func prepareLockFile(
    _ directory: Directory, _ options: Environment.Options
  ) throws(LMDBError) -> FileIdentity? {
    let found = try statusOfLockFile(directory)
    if !options.usesLockFile { return found?.identity }
    do throws(SystemError) {
      let file = try directory.create(EnvironmentFiles.lockName, requiresOneName: true)
      let status = try file.status()
      // Processes that have it mapped do not know of slots past the old end, and would crash on the first one used.
      let isInUse = try file.isLockedElsewhere()
      let size = isInUse && status.size > 0 ? status.size : max(status.size, lockFileSize(options))
      if status.size == 0 { file.disableCopyOnWrite() }
      if status.allocatedBytes < size { try file.reserve(size) }
      return status.identity
    } catch {
      // LMDB handles unwritable lock files itself.
      if error.finding == nil, [EACCES, EPERM, EROFS].contains(error.errno) { return found?.identity }
      throw LMDBError(error)
    }
  }

  /// LMDB's size: two cache lines of state, and one per reader.
  private static func lockFileSize(_ options: Environment.Options) -> Int { 128 + Int(options.maxReaders) * 64 }

  // MARK: - LMDB

  /// `mdb_env_open`, with a smaller map if there is not enough address space.
  private static func openHandle(
    _ directory: Directory, _ options: Environment.Options, mapSize size: Int
  ) throws(LMDBError) -> EnvironmentHandle {
    let handle = try EnvironmentHandle(directory: directory.path)
    do throws(LMDBError) {
      try handle.setMapSize(size)
      try handle.setMaxReaders(options.maxReaders)
      if options.maxDatabases > 0 { try handle.setMaxDatabases(options.maxDatabases) }
      try handle.open(path: directory.pathForC, flags: options.flags)
      return handle
    } catch {
      // Also after a failed `mdb_env_open`, which does not free the environment.
      unsafe handle.close()
      guard error.code == .outOfMemory, error.operation == FaultInjection.Call.envOpen.rawValue,
        size / 2 >= Environment.Options.leastMapSize
      else { throw error }
      return try openHandle(directory, options, mapSize: Environment.Options.rounded(size / 2))
    }
  }

  /// Opens the main database (`mdb_dbi_open` without a name), once for all transactions.
  private static func openMainDatabase(_ handle: EnvironmentHandle) throws(LMDBError) {
    let transaction: TransactionHandle
    do throws(LMDBError) {
      transaction = try handle.begin(flags: MDB_RDONLY)
    } catch {
      guard error.status == MDB_READERS_FULL else { throw error }
      // Slots of dead readers stay in use until they are checked.
      _ = try handle.checkReaders()
      transaction = try handle.begin(flags: MDB_RDONLY)
    }
    // Nothing was changed, and an abort cannot fail. It keeps the main database's handle.
    defer { unsafe transaction.abort() }
    guard try transaction.openDatabase(name: nil) == .main else {
      throw LMDBError(code: .incompatible, operation: FaultInjection.Call.dbiOpen.rawValue)
    }
  }
}

/// The environments open in this process, each at most once.
///
/// Closing any descriptor of `lock.mdb` drops all POSIX locks of the process on it, and other processes would consider
/// its readers dead. So the file must never be opened twice, and all openers share one object.
///
/// The lock is never held across waits or opening and closing of files: an entry is marked busy instead, and only
/// openers of the same files wait for it.
struct Registry {
  /// The registry's state for a directory's files.
  enum Match {
    case none
    case open(Environment)
    /// Another thread is opening or closing them, or the object is being destroyed.
    case busy
    /// The lock file is in use with another data file.
    case replaced
  }

  /// Other uses of a lock file in this process.
  enum LockFileUse {
    case none
    /// By an environment that is being closed or opened.
    case busy
    case open
  }

  private struct Entry {
    let number: Int
    let directory: FileIdentity
    var control: ControlReference?
    /// Also `nil` during the object's `deinit`; the entry stays until the C environment is closed.
    weak var environment: Environment?
    /// `nil` during the first open.
    var files: EnvironmentFiles?
    var isBusy = false
  }

  private var entries: [Entry] = []
  private var lastNumber = 0

  // MARK: -

  private static let mutex = ConditionLock()

  // Guarded by `mutex`.
  private nonisolated(unsafe) static var shared = Registry()

  /// Runs `body` under the registry's lock. `body` must not release an environment's last reference.
  static func withLock<R>(_ body: (inout Registry) -> R) -> R { mutex.withLock { unsafe body(&shared) } }

  // MARK: -

  /// The open environment for these files.
  ///
  /// - Parameter exactly: Whether to exclude an environment with the same data file but another lock file.
  func find(directory: FileIdentity, data: FileIdentity?, lockFile: FileIdentity?, exactly: Bool) -> Match {
    for entry in entries {
      let isSameData = data != nil && entry.files?.data == data
      let isSameLock = lockFile != nil && entry.files?.lockFile == lockFile
      guard isSameData || isSameLock else {
        if entry.isBusy, entry.directory == directory { return .busy }
        continue
      }
      if exactly, isSameData, lockFile != entry.files?.lockFile { continue }
      guard !entry.isBusy, let environment = entry.environment else { return .busy }
      return isSameData ? .open(environment) : .replaced
    }
    return .none
  }

  /// Reserves a directory whose files the caller is about to open. Returns the reservation's number.
  mutating func reserve(_ directory: FileIdentity) -> Int {
    lastNumber += 1
    entries.append(Entry(number: lastNumber, directory: directory, isBusy: true))
    return lastNumber
  }

  /// Whether another environment than the reserved one has a lock file.
  func use(of lockFile: FileIdentity?, besides number: Int) -> LockFileUse {
    guard let lockFile else { return .none }
    let users = entries.filter { $0.number != number && $0.files?.lockFile == lockFile }
    if users.contains(where: { $0.isBusy || $0.environment == nil }) { return .busy }
    return users.isEmpty ? .none : .open
  }

  /// Turns a reservation into an environment, unless another one uses its lock file; returns that use.
  mutating func complete(_ number: Int, _ environment: Environment, _ files: EnvironmentFiles) -> LockFileUse {
    let use = use(of: files.lockFile, besides: number)
    guard use == .none, let index = entries.firstIndex(where: { $0.number == number }) else { return use }
    entries[index].environment = environment
    entries[index].control = environment.control
    entries[index].files = files
    entries[index].isBusy = false
    return .none
  }

  mutating func cancel(_ number: Int) { entries.removeAll { $0.number == number } }

  /// Makes openers of these files wait while the caller closes or reopens them.
  mutating func setBusy(_ control: ControlReference, _ isBusy: Bool) {
    guard let index = index(of: control) else { return }
    entries[index].isBusy = isBusy
  }

  /// Records the environment's new files.
  mutating func update(_ control: ControlReference, _ files: EnvironmentFiles) {
    guard let index = index(of: control) else { return }
    entries[index].files = files
  }

  mutating func remove(_ control: ControlReference) { entries.removeAll { $0.control == control } }

  func files(of control: ControlReference) -> EnvironmentFiles? { index(of: control).flatMap { entries[$0].files } }

  private func index(of control: ControlReference) -> Int? { entries.firstIndex { $0.control == control } }
}
