import LMDB
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension DiskStore {
  /// What opening a directory found.
  struct Opened {
    let directory: String
    let environment: Environment
    let place: StorePlace
    let metadata: CacheMetadata
    let lastTransactionID: UInt64
    let recovery: CacheRecovery?
  }

  private struct WeakStore: Sendable { weak var store: DiskStore? }
  private static let stores = Mutex<[String: WeakStore]>([:])

  /// The store of a directory: the one that this process has open already, or a new one.
  ///
  /// Each opening is ended by one ``release()``.
  static func open(
    directory path: String, configuration: CacheConfiguration, databaseKey: DatabaseKey = DatabaseKey()
  ) throws(CacheError) -> DiskStore {
    try configuration.validate()
    let directory = try prepare(path)
    // Opening is rare: the lock is held throughout, so that two threads end up with one store.
    return try stores.withLock { (stores) throws(CacheError) in
      if let store = stores[directory]?.store, !store.environment.isForked,
        try store.retainIfOpen(durability: configuration.durability)
      {
        try store.reopenForNewOpener()
        return store
      }
      let opened = try openFiles(directory, configuration)
      let store = DiskStore(opening: opened, configuration: configuration, databaseKey: databaseKey)
      stores[directory] = WeakStore(store: store)
      // Before anything is read or committed: what a dead process wrote was acknowledged.
      store.takeOverFromDeadPeers(isOpening: true)
      store.startWriter()
      return store
    }
  }

  private func retainIfOpen(durability: Durability) throws(CacheError) -> Bool {
    lock.lock()
    defer { lock.unlock() }
    if state.isStopping { return false }
    guard durability == self.durability else { throw Self.durabilityMismatch(directory, self.durability, durability) }
    state.openers += 1
    return true
  }

  private static func prepare(_ path: String) throws(CacheError) -> String {
    let (directory, isRemote): (String, Bool)
    do throws(SystemError) {
      try Directory.create(path, synchronized: true)
      directory = try Directory.canonicalPath(path)
      isRemote = try Directory.isRemote(directory)
    } catch {
      if [ENOTDIR, ENAMETOOLONG, ELOOP, EEXIST].contains(error.errno) {
        throw CacheError(
          .invalidDirectory, "\(path) cannot be a cache directory. Give the path of a directory or of a new one.",
          underlying: error)
      }
      throw CacheError(error, during: "Opening the cache directory \(path)")
    }
    if isRemote {
      throw CacheError(
        .remoteFileSystem,
        "\(directory) is on a remote file system, where memory maps and locks of several machines corrupt a "
          + "database. Use a directory on a local disk.")
    }
    return directory
  }

  /// - Parameter displaced: For a store whose files are not in their places any more, what it has open.
  static func openFiles(
    _ directory: String, _ configuration: CacheConfiguration, displaced: DisplacedFiles? = nil
  ) throws(CacheError) -> Opened {
    let timeout = configuration.disk.lockTimeout.clampedNanoseconds
    // Until the database is open: who comes meanwhile finds this process here.
    let opening = try OpeningLock(directory: directory, timeout: timeout)
    let activity = "Opening the cache in \(directory)"
    let (processLock, isShared) = try calling(activity) { () throws(SystemError) in
      let processLock =
        if let kept = displaced?.processLock { kept } else {
          try ProcessLock(directory: directory, timeout: timeout)
        }
      return (processLock, try !processLock.isOnlyProcess())
    }
    if isShared { try checkNamespace(directory, processLock) }
    try calling(activity) { () throws(SystemError) in
      try FastSession.discardUntrusted(directory, processLock, logger: configuration.logger)
    }
    let recovery = try OpeningCheck(directory: directory, configuration: configuration, processLock: processLock).run()
    let (hadLockFile, isLockFileNew) = try calling(activity) { () throws(SystemError) in
      // Before LMDB makes the files. One that is there has to be looked at first: see `beginFastSession`.
      if configuration.durability == .fast, !Directory.exists(directory + "/data.mdb") {
        try FastSession.begin(directory)
      }
      let record = isShared ? try processLock.record() : nil
      let hadLockFile = try dissolveMismatchedPair(directory, record, displaced)
      let lockFile = try Directory.identity(of: directory + "/lock.mdb")
      let isKnown = record.map { $0.files.lockFile == lockFile } ?? true
      return (hadLockFile, isShared && (!hadLockFile || !isKnown || displaced != nil))
    }
    var options = Environment.Options()
    options.mapSize = configuration.disk.mapSize
    options.syncMode =
      switch configuration.durability {
      case .ordered: .noMetaSync
      case .full: .full
      case .fast: .noSync
      }
    options.waits.otherProcesses = UInt64(timeout)
    if configuration.durability != .fast { try NewDatabase.make(in: directory, options) }
    let environment = try storing("Opening the database in \(directory)") { () throws(LMDBError) in
      try Environment.openAnew(directory: directory, options: options, excludingWriters: isLockFileNew)
    }
    do throws(CacheError) {
      if configuration.durability == .fast { try beginFastSession(environment, directory) }
      let metadata = try initializeMetadata(environment, directory, configuration)
      let place = try settle(environment, directory, processLock, opening.directory)
      try markOpened(directory, configuration.durability)
      let opened = Opened(
        directory: directory, environment: environment, place: place, metadata: metadata,
        lastTransactionID: environment.lastPosition(), recovery: recovery)
      opening.end()
      if isShared, !hadLockFile || displaced != nil { waitForReadersOfOldLockFile(environment, displaced) }
      return opened
    } catch {
      environment.close()
      distrustIfDamaged(directory, error)
      throw error
    }
  }

  /// Marks the directory before anything is written, but not one that turns out to be no cache of this kind: with the
  /// mark, it would be discarded after the next boot.
  private static func beginFastSession(_ environment: Environment, _ directory: String) throws(CacheError) {
    let (existing, isEmpty) = try storing("Reading the cache in \(directory)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        (try readMetadata(txn), try txn.statistics().entries == 0)
      }
    }
    if existing != nil || !isEmpty { _ = try check(existing ?? .corrupted, directory, .fast) }
    try calling("Opening the cache in \(directory)") { () throws(SystemError) in try FastSession.begin(directory) }
  }

  /// Reads the cache's own record, and writes it where it is missing or of an earlier boot.
  private static func initializeMetadata(
    _ environment: Environment, _ directory: String, _ configuration: CacheConfiguration
  ) throws(CacheError) -> CacheMetadata {
    let activity = "Reading the cache in \(directory)"
    let boot = BootIdentifier.current
    let existing = try storing(activity) { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in try readMetadata(txn) }
    }
    if let existing {
      let metadata = try check(existing, directory, configuration.durability)
      if metadata.boot == boot { return metadata }
    }
    // Nobody else can write until this transaction ends; what is there now is what counts.
    let txn = try storing(activity) { () throws(LMDBError) -> WriteTransaction in
      try environment.beginWrite()
    }
    var metadata = CacheMetadata(durability: configuration.durability)
    if let present = try storing(activity, { () throws(LMDBError) in try readMetadata(txn) }) {
      metadata = try check(present, directory, configuration.durability)
    } else if try storing(activity, { () throws(LMDBError) in try txn.statistics() }).entries > 0 {
      metadata = try check(.corrupted, directory, configuration.durability)
    }
    if metadata.boot == boot && metadata.stampBase != 0 { return metadata }
    metadata.boot = boot
    // Stamps go on from the last one, even if the wall clock was set back in between.
    let now = max(UInt64(max(0, configuration.clock.now)), metadata.lastStamp &+ 1)
    metadata.stampBase = now &- UInt64(configuration.clock.monotonic)
    do throws(LMDBError) {
      try write(metadata, txn)
      try txn.commit()
    } catch {
      throw CacheError(error, during: activity)
    }
    return metadata
  }

  private static func check(
    _ reading: CacheMetadata.Reading, _ directory: String, _ durability: Durability
  ) throws(CacheError) -> CacheMetadata {
    switch reading {
    case .metadata(let metadata):
      guard metadata.durability == durability else {
        throw durabilityMismatch(directory, metadata.durability, durability)
      }
      return metadata
    case .newerVersion(let version):
      throw CacheError(
        .unsupportedVersion,
        "\(directory) was written by a newer version of this package (format \(version), this one knows "
          + "\(CacheMetadata.version)). Update, or give another directory; nothing was changed.")
    case .corrupted:
      throw CacheError(
        .corruptedRecord,
        "\(directory)/data.mdb is a database, but not one of this package, or it is damaged. Give another directory, "
          + "or remove this one; nothing was changed.")
    }
  }

  static func durabilityMismatch(_ directory: String, _ stored: Durability, _ asked: Durability) -> CacheError {
    CacheError(
      .durabilityMismatch,
      "\(directory) is a cache with durability .\(stored), and .\(asked) was asked for. All processes have to agree: "
        + "open it with .\(stored), or remove the directory to start anew.")
  }

  /// Ends one opening. The last one commits what waits, ends the writer thread and closes the files.
  func release() throws(CacheError) {
    let isLast = lock.withLock {
      state.openers -= 1
      if state.openers > 0 || state.isStopping { return false }
      state.isStopping = true
      lock.signalAll(.work)
      return true
    }
    guard isLast else { return }
    try finish()
  }
}
