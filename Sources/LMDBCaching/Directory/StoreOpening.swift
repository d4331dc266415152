import LMDB
import Platform
import Synchronization

/// Opens the files of a cache's directory in this order: opening lock, directory check, process lock, marks,
/// verification, database, metadata.
///
/// LMDB's lock file holds the last transaction's number and the reader table, which are wrong for any other data file.
/// So the lock file of a deleted or replaced data file is removed; processes that have it open switch before their next
/// write, or within about a second.
struct StoreOpening {
  struct Opened {
    let environment: Environment
    let place: StorePlace
    let metadata: CacheMetadata
    let recovery: CacheRecovery?
  }

  let cache: CacheDirectory
  let configuration: CacheConfiguration
  let events: EventLog
  /// The open files of a store whose files were displaced.
  var displaced: DisplacedFiles?

  private var directory: Directory { cache.directory }
  private var activity: String { "Opening the cache in \(directory.path)" }
  private var timeout: Int64 { configuration.disk.lockTimeout.clampedNanoseconds }

  func run() throws(CacheError) -> Opened {
    // Hold the lock until the database is open, so that others then find this process here.
    let opening = try OpeningLock(directory, timeout: timeout)
    // A backup may have been restored during the wait for the lock.
    if displaced == nil, try calling(activity, { () throws(SystemError) in try !directory.isStillAtItsPath() }) {
      throw CacheError(
        .busy, "Another directory has taken the place of \(directory.path) while it was being opened. Open it again.")
    }
    try cache.requireCache()
    let (processLock, isShared) = try calling(activity) { () throws(SystemError) in
      let processLock =
        if let kept = displaced?.processLock { kept } else { try ProcessLock(directory, timeout: timeout) }
      return (processLock, try !processLock.isOnlyProcess())
    }
    let record = try calling(activity) { () throws(SystemError) in isShared ? try processLock.record() : nil }
    if let record { try checkNamespace(record) }
    // This includes processes that are unknown because the process lock's file was deleted.
    try calling(activity) { () throws(SystemError) in try JournalFolder(cache: directory).revokeExclusiveUse() }
    try FastSession.discardInterrupted(cache, configuration, processLock, events: events)
    let check = try OpeningCheck(
      cache: cache, configuration: configuration, processLock: processLock, ownJournal: displaced?.journal,
      events: events
    ).run()
    let (hadLockFile, isLockFileNew) = try calling(activity) { () throws(SystemError) in
      // Before LMDB creates the files. An existing database is checked first, in `beginFastSession`.
      if configuration.durability == .fast, try !cache.exists(CacheDirectory.dataName) {
        try FastSession.begin(directory)
      }
      let hadLockFile = try dissolveMismatchedPair(record)
      let lockFile = try directory.identity(of: CacheDirectory.lockName)
      let isKnown = record.map { $0.files.lockFile == lockFile } ?? true
      return (hadLockFile, isShared && (!hadLockFile || !isKnown || displaced != nil))
    }
    let environment = try openEnvironment(isLockFileNew: isLockFileNew)
    do throws(CacheError) {
      if configuration.durability == .fast { try beginFastSession(environment) }
      let metadata = try initializeMetadata(environment, known: record, isShared: isShared)
      // A mark left by an interrupted creation would be taken for this cache's.
      if configuration.durability != .fast {
        try calling(activity) { () throws(SystemError) in try FastSession.end(directory) }
      }
      let place = try settle(environment, processLock, metadata)
      if check.isSound {
        try CleanExitMarker.markOpened(directory, configuration.durability, wasVerified: check.wasVerified)
      }
      opening.end()
      if isShared, !hadLockFile || displaced != nil { waitForReadersOfOldLockFile(environment) }
      return Opened(environment: environment, place: place, metadata: metadata, recovery: check.recovery)
    } catch {
      environment.close()
      makeMarkVoidIfDamaged(error)
      throw error
    }
  }

  private func openEnvironment(isLockFileNew: Bool) throws(CacheError) -> Environment {
    var options = Environment.Options()
    options.mapSize = configuration.disk.mapSize
    options.syncMode =
      switch configuration.durability {
      case .ordered: .noMetaSync
      case .full: .full
      case .fast: .noSync
      }
    options.waits.otherProcesses = UInt64(max(0, timeout))
    if configuration.durability != .fast { try NewDatabase.make(in: directory, options) }
    return try calling("Opening the database in \(directory.path)") { () throws(LMDBError) in
      try Environment.openAnew(directory, options: options, excludingWriters: isLockFileNew)
    }
  }

  // MARK: The processes

  /// Refuses a directory open in another PID namespace: neither process could see whether the other's readers live.
  private func checkNamespace(_ record: ProcessRecord) throws(CacheError) {
    guard record.isOfOtherNamespace else { return }
    throw CacheError(
      .processNamespaceMismatch,
      "\(directory.path) is open in a process of another PID namespace (pid:[\(record.namespace)], this is pid:[\(ProcessNamespace.current)]): "
        + "neither can tell whether the other is alive. Give each container a directory of its own, let them share a PID "
        + "namespace, or close the cache there first.")
  }

  /// Records what the processes share, and the files' identities.
  private func settle(
    _ environment: Environment, _ processLock: ProcessLock, _ metadata: CacheMetadata
  ) throws(CacheError) -> StorePlace {
    try calling(activity) { () throws(SystemError) in
      try processLock.write(
        ProcessRecord(
          namespace: ProcessNamespace.current, files: environment.files, stampBase: metadata.stampBase))
      return StorePlace(
        directory: directory, processLock: processLock,
        dataSize: try directory.size(of: CacheDirectory.dataName) ?? 0)
    }
  }

  // MARK: Pairs of files

  /// Removes LMDB's lock file if it belongs to another data file; returns whether one remains.
  ///
  /// - Parameter record: From the processes that have the cache open; afterwards its inode numbers may be reused.
  private func dissolveMismatchedPair(_ record: ProcessRecord?) throws(SystemError) -> Bool {
    let (dataName, lockName) = (CacheDirectory.dataName, CacheDirectory.lockName)
    if let displaced, displaced.displacement.contains(.isTruncated),
      try directory.identity(of: dataName) == displaced.files.data
    {
      // A process that reads past the new end gets a SIGBUS.
      try directory.rename(dataName, to: CacheDirectory.truncatedName)
    }
    let data = try directory.identity(of: dataName)
    guard let lockFile = try directory.identity(of: lockName) else { return false }
    let pairs = [displaced?.files, record?.files].compactMap(\.self)
    if data == nil || pairs.contains(where: { $0.lockFile == lockFile && $0.data != data }) {
      try directory.remove(lockName)
      return false
    }
    return true
  }

  /// Waits until processes with a deleted lock file have noticed: their readers are in no table until then, and writes
  /// could reuse their pages.
  private func waitForReadersOfOldLockFile(_ environment: Environment) {
    // A new data file has no such readers.
    if environment.lastTransactionID <= 1 { return }
    if let displaced, displaced.files.data != environment.files.data || displaced.files == environment.files { return }
    MonotonicClock.sleep(nanoseconds: WriterMachine.roundInterval * 3 / 2)
  }

  // MARK: The cache's own record

  /// Marks the directory before the first write, unless it is another kind of cache, which the mark would discard.
  private func beginFastSession(_ environment: Environment) throws(CacheError) {
    let (existing, isEmpty) = try calling("Reading the cache in \(directory.path)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        (try EntryDatabase.readMetadata(txn), try txn.statistics().entries == 0)
      }
    }
    if existing != nil || !isEmpty { _ = try check(existing ?? .corrupted) }
    try calling(activity) { () throws(SystemError) in try FastSession.begin(directory) }
  }

  /// Reads the metadata, and writes it if it is missing or from an earlier boot.
  private func initializeMetadata(
    _ environment: Environment, known: ProcessRecord?, isShared: Bool
  ) throws(CacheError) -> CacheMetadata {
    let activity = "Reading the cache in \(directory.path)"
    let existing = try calling(activity) { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in try EntryDatabase.readMetadata(txn) }
    }
    if let existing {
      let metadata = try check(existing)
      if isCurrent(metadata, isShared: isShared) { return metadata }
    }
    let greatestStamp = try greatestStampOfJournals()
    let journals = existing == nil ? try journalsThatGoOn() : []
    // Read again: other processes cannot write until this transaction ends.
    let txn = try calling(activity) { () throws(LMDBError) -> WriteTransaction in try environment.beginWrite() }
    var metadata = CacheMetadata(durability: configuration.durability)
    if let present = try calling(activity, { () throws(LMDBError) in try EntryDatabase.readMetadata(txn) }) {
      metadata = try check(present)
    } else if try calling(activity, { () throws(LMDBError) in try txn.statistics() }).entries > 0 {
      metadata = try check(.corrupted)
    }
    if !isCurrent(metadata, isShared: isShared) {
      metadata.boot = BootIdentifier.current
      metadata.stampBase = stampBase(after: max(metadata.lastStamp, greatestStamp), known: known)
    }
    do throws(LMDBError) {
      try EntryDatabase.write(metadata, txn)
      for (journal, stamp) in journals { try WriteSession.setCommittedStamp(stamp, ofJournal: journal, txn) }
      try txn.commit()
    } catch {
      // Stamps continue from the last known one rather than the clock.
      if case .metadata(let usable)? = existing, usable.boot == BootIdentifier.current, usable.stampBase != 0 {
        return usable
      }
      throw CacheError(error, during: activity)
    }
    return metadata
  }

  /// Whether the recorded stamp base is still valid.
  private func isCurrent(_ metadata: CacheMetadata, isShared: Bool) -> Bool {
    // If the boot is unknown, processes that have the cache open prove that it is this one.
    let isOfThisRun = metadata.boot.isKnownToBe(.current) || isShared && metadata.boot == .current
    guard isOfThisRun, metadata.stampBase != 0 else { return false }
    // A last stamp beyond the clock would put new stamps behind it. While others have the cache open, their base stays.
    let now = metadata.stampBase &+ UInt64(truncatingIfNeeded: configuration.clock.monotonic)
    return isShared || metadata.lastStamp <= now &+ 1_000_000_000
  }

  /// What to add to the monotonic clock so that stamps exceed all earlier ones.
  ///
  /// A database recreated within a boot keeps its processes' base, because the wall clock may have been set back.
  private func stampBase(after last: UInt64, known: ProcessRecord?) -> UInt64 {
    let monotonic = UInt64(truncatingIfNeeded: max(0, configuration.clock.monotonic))
    for base in [displaced?.stampBase, known?.stampBase].compactMap(\.self)
    where base != 0 && base < StampClock.foundLimit
      && last < base &+ monotonic && base &+ monotonic < StampClock.foundLimit
    {
      return base
    }
    // The wall clock may have any value.
    let wall = min(UInt64(max(0, configuration.clock.now)), StampClock.greatestStart)
    return max(wall, last + 1, monotonic + 1) - monotonic
  }

  /// The greatest stamp in dead processes' journals: those writes were acknowledged, and later writes must be newer.
  private func greatestStampOfJournals() throws(CacheError) -> UInt64 {
    try calling(activity) { () throws(SystemError) in
      let folder = JournalFolder(cache: directory)
      var greatest: UInt64 = 0
      for identifier in try folder.identifiers() {
        guard let journal = try folder.orphan(identifier) else { continue }
        greatest = max(greatest, journal.image.lastStamp ?? 0)
      }
      return greatest
    }
  }

  /// The journals that continue from another database, deleted or quarantined, each with its last stamp committed
  /// there. Without these stamps a replay would find a gap. Live processes' journals count: they may die before they
  /// switch.
  private func journalsThatGoOn() throws(CacheError) -> [(journal: UInt64, stamp: UInt64)] {
    try calling(activity) { () throws(SystemError) in
      let folder = JournalFolder(cache: directory)
      var found: [(journal: UInt64, stamp: UInt64)] = []
      for identifier in try folder.identifiers() {
        guard let journal = try ifReadable({ () throws(SystemError) in try folder.image(identifier) }) ?? nil,
          journal.identifier == identifier, let stamp = journal.previousStamp, stamp > 0
        else { continue }
        found.append((identifier, stamp))
      }
      return found
    }
  }

  private func check(_ reading: CacheMetadata.Reading) throws(CacheError) -> CacheMetadata {
    switch reading {
    case .metadata(let metadata):
      guard metadata.durability == configuration.durability else {
        throw Self.durabilityMismatch(directory, metadata.durability, configuration.durability)
      }
      return metadata
    case .newerVersion(let version):
      throw CacheError(
        .unsupportedVersion,
        "\(directory.path) was written by a newer version of this package (format \(version), this one knows "
          + "\(CacheMetadata.version)). Update, or give another directory; nothing was changed.")
    case .corrupted:
      throw CacheDirectory.notACache(directory, "its own record is missing or damaged")
    }
  }

  static func durabilityMismatch(_ directory: Directory, _ stored: Durability, _ asked: Durability) -> CacheError {
    CacheError(
      .durabilityMismatch,
      "\(directory.path) is a cache with durability .\(stored), and .\(asked) was asked for. All processes have to agree: "
        + "open it with .\(stored), or remove the directory to start anew.")
  }

  /// Makes the next opening verify a database that was marked sound but is not.
  private func makeMarkVoidIfDamaged(_ error: CacheError) {
    guard error.code == .corruptedRecord || error.code == .damagedDatabase else { return }
    // Report the opening's error, not this one.
    do throws(SystemError) { try CleanExitMark.makeVoid(in: directory) } catch {}
  }
}

/// Locks the directory itself, so that one process at a time opens or recreates its files. Ends with its owner.
struct OpeningLock: ~Copyable {
  private let lock: FileLock

  /// Maximum wait for a running process: verifying many gigabytes takes seconds.
  private static let longestWait: Int64 = 60_000_000_000

  /// Waits for other processes.
  ///
  /// - Parameter timeout: Nanoseconds to wait for a process that is suspended or unknown.
  /// - Throws: `.lockTimeout`.
  init(_ directory: Directory, timeout: Int64) throws(CacheError) {
    let activity = "Opening the cache in \(directory.path)"
    let start = MonotonicClock.nanoseconds
    let lock = try calling(activity) { () throws(SystemError) in try FileLock(directory) }
    while try !calling(activity, { () throws(SystemError) in try lock.lock(.exclusive, within: timeout) }) {
      let holder = LockHolder.exclusive(of: directory.identity)
      guard let holder, !holder.isSuspended, MonotonicClock.nanoseconds - start < Self.longestWait else {
        throw .lockTimeout(directory.path, holder)
      }
    }
    self.lock = lock
  }

  private init(_ lock: consuming FileLock) { self.lock = lock }

  /// Takes the lock for optional work, or returns `nil` after `limit` nanoseconds.
  static func take(_ directory: Directory, within limit: Int64) throws(SystemError) -> OpeningLock? {
    let lock = try FileLock(directory)
    return try lock.lock(.exclusive, within: limit) ? OpeningLock(lock) : nil
  }

  /// Releases the lock; so does the end of the process.
  consuming func end() {}
}

extension CacheError {
  static func lockTimeout(_ path: String, _ holder: LockHolder?) -> CacheError {
    CacheError(
      .lockTimeout,
      "Another process holds a lock of the cache in \(path) and does not let go: "
        + (holder.map { "\($0)." }
          ?? "look for a suspended one (state T) among those that use it, and continue it or end it."))
  }
}

/// Creates the database file of a new cache.
///
/// LMDB writes a new file in place without syncing: after a power cut it may have its size but no contents, and LMDB
/// then refuses it. So the file is created in a folder, synced, and moved into place.
enum NewDatabase {
  static let folder = "data.mdb.new"
  private static let magic: [UInt8] = [0xDE, 0xC0, 0xEF, 0xBE]

  static func isLockFile(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magic) }

  /// Creates the file unless it exists. Requires the ``OpeningLock``.
  static func make(in directory: Directory, _ options: Environment.Options) throws(CacheError) {
    let activity = "Making the database in \(directory.path)"
    do throws(CacheError) {
      let new = try calling(activity) { () throws(SystemError) -> Directory? in
        // Left by a process that died here.
        try remove(in: directory)
        if try directory.kind(of: CacheDirectory.dataName) != nil { return nil }
        // Somebody else's: leave it alone.
        if try directory.kind(of: folder) != nil {
          throw SystemError("mkdirat", directory.path + "/" + folder, errno: EEXIST)
        }
        return try directory.makeSubdirectory(folder)
      }
      guard let new else { return }
      try calling(activity) { () throws(LMDBError) in
        // Only this process uses the folder. A power cut could leave an unrecognizable lock file.
        var options = options
        options.usesLockFile = false
        let environment = try Environment.open(new, options: options)
        defer { environment.close() }
        try environment.sync(force: true)
      }
      try calling(activity) { () throws(SystemError) in
        try new.rename(CacheDirectory.dataName, to: directory, as: CacheDirectory.dataName)
        try directory.synchronize()
        try remove(in: directory)
      }
    } catch {
      // The next attempt removes the leftovers; report the first error.
      do throws(SystemError) { try remove(in: directory) } catch {}
      throw error
    }
  }

  /// Whether the folder holds only leftovers of an interrupted creation.
  static func isOurs(in directory: Directory) throws(SystemError) -> Bool {
    guard try directory.kind(of: folder) == .directory, let new = try directory.subdirectory(folder) else {
      return try directory.kind(of: folder) == nil
    }
    // `names` and `isEmpty` differ if a name is not UTF-8.
    let names = try new.names()
    let isEmpty = try new.isEmpty()
    if names.isEmpty { return isEmpty }
    for name in names {
      guard [CacheDirectory.dataName, CacheDirectory.lockName].contains(name), let status = try new.status(of: name),
        status.kind == .regular, status.linkCount == 1, try isDatabase(new, name)
      else { return false }
    }
    return true
  }

  /// Whether a file starts like an LMDB file; a full disk may have truncated it anywhere.
  private static func isDatabase(_ directory: Directory, _ name: String) throws(SystemError) -> Bool {
    guard let file = try directory.open(name) else { return true }
    var beginning = [UInt8](repeating: 0, count: Int(min(20, try file.status().size)))
    guard try file.read(&beginning) else { return true }
    if beginning.allSatisfy({ $0 == 0 }) { return true }
    if beginning.begins(with: magic) { return true }
    // A 16-byte page header comes first and starts with the page number, 0.
    return beginning.count < 20 ? beginning.prefix(8).allSatisfy { $0 == 0 } : beginning[16..<20].elementsEqual(magic)
  }

  private static func remove(in directory: Directory) throws(SystemError) {
    guard try directory.kind(of: folder) == .directory, try isOurs(in: directory) else { return }
    try directory.removeTree(folder)
  }
}
