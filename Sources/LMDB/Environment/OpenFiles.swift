import CLMDB
import Platform

/// A newly opened C environment with its file resources.
struct OpenFiles {
  static let dataFile = "data.mdb"
  static let lockFile = "lock.mdb"

  let directory: Directory
  /// The `MDB_env`.
  let handle: OpaquePointer
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
    let locks = FileLocks(try Self.openDataFile(directory, options))
    let data = try locks.identity()
    self.locks = locks
    // The reader table's file grows only while unmapped, so one process at a time opens it.
    let opened = try Environment.changingReaderTable(locks, options) { () throws(LMDBError) in
      try Self.open(directory, options, data)
    }
    (handle, descriptor, pageSize) = (opened.handle, opened.descriptor, opened.pageSize)
    files = EnvironmentFiles(data: data, lockFile: opened.lockFile)
  }

  private struct Opened {
    let handle: OpaquePointer
    let descriptor: Int32
    let lockFile: FileIdentity?
    let pageSize: Int
  }

  private static func open(
    _ directory: Directory, _ options: Environment.Options, _ data: FileIdentity
  ) throws(LMDBError) -> Opened {
    let prepared = try prepareLockFile(directory, options)
    let handle = try openHandle(directory, options)
    do throws(LMDBError) {
      var descriptor: Int32 = -1
      var status = Calls.descriptor(handle, &descriptor)
      guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .envGetDescriptor) }
      // LMDB sets this on its other descriptors, but lets this one be inherited.
      let flags = fcntl(descriptor, F_GETFD)
      guard flags >= 0, fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) == 0 else {
        throw LMDBError(errno: currentErrno(), operation: "fcntl(F_SETFD)")
      }
      var opened = stat()
      guard fstat(descriptor, &opened) == 0 else { throw LMDBError(errno: currentErrno(), operation: "fstat") }
      let lockFile = try statusOfLockFile(directory)?.identity
      guard FileIdentity(opened) == data, prepared == nil || prepared == lockFile else {
        throw LMDBError(code: .fileReplaced, operation: "Environment.open")
      }
      try openMainDatabase(handle)
      var statistics = MDB_stat()
      status = Calls.statistics(handle, &statistics)
      guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .envStat) }
      return Opened(
        handle: handle, descriptor: descriptor, lockFile: lockFile, pageSize: Int(statistics.ms_psize))
    } catch {
      Calls.close(handle)
      throw error
    }
  }

  /// Closes files that were not handed on.
  func close() { Calls.close(handle) }

  // MARK: - Files

  /// Opens the data file, or creates an empty one, which LMDB treats as new.
  private static func openDataFile(_ directory: Directory, _ options: Environment.Options) throws(LMDBError) -> File {
    if !options.isReadOnly {
      return try system { () throws(SystemError) in
        try directory.create(dataFile, permissions: mode_t(options.fileMode), requiresOneName: true)
      }
    }
    guard let file = try system({ () throws(SystemError) in try directory.open(dataFile, requiresOneName: true) })
    else {
      throw LMDBError(errno: ENOENT, operation: "openat")
    }
    return file
  }

  /// Uses `stat` only: opening and closing the file would end the locks of an environment that has it open. Throws for
  /// foreign files; `nil` if there is none.
  private static func statusOfLockFile(_ directory: Directory) throws(LMDBError) -> FileStatus? {
    try system { () throws(SystemError) in try directory.statusOfOwnFile(lockFile) }
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
    if options.isReadOnly || !options.usesLockFile { return found?.identity }
    do throws(SystemError) {
      let file = try directory.create(lockFile, permissions: mode_t(options.fileMode), requiresOneName: true)
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
    _ directory: Directory, _ options: Environment.Options
  ) throws(LMDBError) -> OpaquePointer {
    var size = options.roundedMapSize
    while true {
      do throws(LMDBError) {
        return try openHandle(directory, options, mapSize: size)
      } catch {
        guard error.code == .outOfMemory, error.operation == Calls.Name.envOpen.rawValue,
          size / 2 >= Environment.Options.leastMapSize
        else { throw error }
        size = Environment.Options.rounded(size / 2)
      }
    }
  }

  private static func openHandle(
    _ directory: Directory, _ options: Environment.Options, mapSize: Int
  ) throws(LMDBError) -> OpaquePointer {
    let path = directory.path
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
      try check(
        Calls.open(handle, directory: path, path: directory.pathForC, flags: options.flags, mode: options.fileMode),
        .envOpen)
      return handle
    } catch {
      // Also after a failed `mdb_env_open`, which does not free the environment.
      Calls.close(handle)
      throw error
    }
  }

  /// Opens the main database (`mdb_dbi_open` without a name), once for all transactions.
  private static func openMainDatabase(_ handle: OpaquePointer) throws(LMDBError) {
    var opened: OpaquePointer?
    var status = Calls.begin(handle, flags: UInt32(MDB_RDONLY), &opened)
    if status == MDB_READERS_FULL {
      // Slots of dead readers stay in use until they are checked.
      var dead: Int32 = 0
      let checked = Calls.checkReaders(handle, &dead)
      guard checked == MDB_SUCCESS else { throw LMDBError(status: checked, operation: .readerCheck) }
      status = Calls.begin(handle, flags: UInt32(MDB_RDONLY), &opened)
    }
    guard status == MDB_SUCCESS, let transaction = opened else {
      throw LMDBError(status: status, operation: .txnBegin)
    }
    // Nothing was changed, and an abort cannot fail. It keeps the main database's handle.
    defer { Calls.abort(transaction) }
    var database: UInt32 = 0
    status = Calls.openDatabase(transaction, name: nil, flags: 0, &database)
    guard status == MDB_SUCCESS else { throw LMDBError(status: status, operation: .dbiOpen) }
    guard database == Database.main.handle else {
      throw LMDBError(code: .incompatible, operation: Calls.Name.dbiOpen.rawValue)
    }
  }
}
