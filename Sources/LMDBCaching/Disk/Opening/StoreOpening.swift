import LMDB
import Platform
import Synchronization

/// Opens the files of a cache's directory, in this order: the opening lock, what the directory is, the processes' lock,
/// marks, verification, the database, its own record.
///
/// The database's lock file holds the number of the last transaction and the table of readers. With another data file they
/// are wrong: what is read and written then is of any age. So a lock file whose data file was deleted or replaced goes;
/// who still has it open goes over to the new one before the next write, or within about a second.
struct StoreOpening {
  /// What was found.
  struct Opened {
    let environment: Environment
    let place: StorePlace
    let metadata: CacheMetadata
    let recovery: CacheRecovery?
  }

  let cache: CacheDirectory
  let configuration: CacheConfiguration
  let events: EventLog
  /// For a store whose files are not in their places any more, what it has open.
  var displaced: DisplacedFiles?

  private var directory: Directory { cache.directory }
  private var activity: String { "Opening the cache in \(directory.path)" }
  private var timeout: Int64 { configuration.disk.lockTimeout.clampedNanoseconds }

  func run() throws(CacheError) -> Opened {
    // Until the database is open: who comes meanwhile finds this process here.
    let opening = try OpeningLock(directory, timeout: timeout)
    // A backup may have been put into its place while the lock was waited for.
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
    // Also of those who are not known to be here, since somebody has deleted the processes' lock.
    try calling(activity) { () throws(SystemError) in try JournalFolder(cache: directory).revokeExclusiveUse() }
    try FastSession.discardInterrupted(cache, configuration, processLock, events: events)
    let check = try OpeningCheck(
      cache: cache, configuration: configuration, processLock: processLock, ownJournal: displaced?.journal,
      events: events
    ).run()
    let (hadLockFile, isLockFileNew) = try calling(activity) { () throws(SystemError) in
      // Before LMDB makes the files. One that is there has to be looked at first: see `beginFastSession`.
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
      let metadata = try initializeMetadata(
        environment, corrected: check.corrected, known: record, isShared: isShared)
      // Of a cache that was not made to its end: what is here now is another one, which would be taken for that.
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
    return try storing("Opening the database in \(directory.path)") { () throws(LMDBError) in
      try Environment.openAnew(directory, options: options, excludingWriters: isLockFileNew)
    }
  }

  // MARK: The processes

  /// Refuses a directory that a process of another PID namespace has open: each would take the other's readers for
  /// dead, or a stranger for them.
  private func checkNamespace(_ record: ProcessRecord) throws(CacheError) {
    let own = ProcessNamespace.current
    guard record.namespace != 0, own != 0, record.namespace != own else { return }
    throw CacheError(
      .processNamespaceMismatch,
      "\(directory.path) is open in a process of another PID namespace (pid:[\(record.namespace)], this is pid:[\(own)]): "
        + "neither can tell whether the other is alive. Give each container a directory of its own, let them share a PID "
        + "namespace, or close the cache there first.")
  }

  /// Writes down what the processes have in common, and where the files are.
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

  /// Sees to it that LMDB's lock file, if there is one, belongs to the data file beside it; returns whether there is.
  ///
  /// - Parameter record: Of the processes that have the cache open. What it says of a cache that nobody has open is of
  ///   files that may be gone, and whose numbers may be used again.
  private func dissolveMismatchedPair(_ record: ProcessRecord?) throws(SystemError) -> Bool {
    let (dataName, lockName) = (CacheDirectory.dataName, CacheDirectory.lockName)
    if let displaced, displaced.displacement.contains(.isTruncated),
      try directory.identity(of: dataName) == displaced.files.data
    {
      // Whoever reads it where it ends now gets a SIGBUS.
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

  /// Waits until whoever has the data file open with a lock file that was deleted has noticed: until then its readers
  /// are in nobody's table, and their pages would be used again by writes.
  private func waitForReadersOfOldLockFile(_ environment: Environment) {
    // With a new data file there are no such readers.
    if environment.lastTransactionID <= 1 { return }
    if let displaced, displaced.files.data != environment.files.data || displaced.files == environment.files { return }
    MonotonicClock.sleep(nanoseconds: WriterMachine.roundInterval * 3 / 2)
  }

  // MARK: The cache's own record

  /// Marks the directory before anything is written, but not one that turns out to be no cache of this kind: with the
  /// mark, it would be discarded after the next boot.
  private func beginFastSession(_ environment: Environment) throws(CacheError) {
    let (existing, isEmpty) = try storing("Reading the cache in \(directory.path)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        (try EntryDatabase.readMetadata(txn), try txn.statistics().entries == 0)
      }
    }
    if existing != nil || !isEmpty { _ = try check(existing ?? .corrupted) }
    try calling(activity) { () throws(SystemError) in try FastSession.begin(directory) }
  }

  /// Reads the cache's own record, and writes it where it is missing, as in a new database, of an earlier boot, or wrong
  /// about the entries.
  private func initializeMetadata(
    _ environment: Environment, corrected: CacheContents.Corrected?, known: ProcessRecord?, isShared: Bool
  ) throws(CacheError) -> CacheMetadata {
    let activity = "Reading the cache in \(directory.path)"
    let existing = try storing(activity) { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in try EntryDatabase.readMetadata(txn) }
    }
    if let existing {
      let metadata = try check(existing)
      if isCurrent(metadata, isShared: isShared) && corrected == nil { return metadata }
    }
    let greatestStamp = try greatestStampOfJournals()
    let journals = existing == nil ? try journalsThatGoOn() : []
    // Nobody else can write until this transaction ends; what is there now is what counts.
    let txn = try storing(activity) { () throws(LMDBError) -> WriteTransaction in try environment.beginWrite() }
    var metadata = CacheMetadata(durability: configuration.durability)
    if let present = try storing(activity, { () throws(LMDBError) in try EntryDatabase.readMetadata(txn) }) {
      metadata = try check(present)
    } else if try storing(activity, { () throws(LMDBError) in try txn.statistics() }).entries > 0 {
      metadata = try check(.corrupted)
    }
    let corrected = corrected.flatMap { $0.metadata.lastStamp == metadata.lastStamp ? $0 : nil }
    if let corrected { metadata = corrected.metadata }
    if !isCurrent(metadata, isShared: isShared) {
      metadata.boot = BootIdentifier.current
      metadata.stampBase = stampBase(after: max(metadata.lastStamp, greatestStamp), known: known)
    }
    do throws(LMDBError) {
      try EntryDatabase.write(metadata, txn)
      for (journal, stamp) in journals { try WriteSession.setCommittedStamp(stamp, ofJournal: journal, txn) }
      if let corrected { try EntryDatabase.write(corrected.usage, txn) }
      try txn.commit()
    } catch {
      // Stamps go on from the last one that is known, if not by the clock.
      if case .metadata(let usable)? = existing, usable.boot == BootIdentifier.current, usable.stampBase != 0 {
        return usable
      }
      throw CacheError(error, during: activity)
    }
    return metadata
  }

  /// Whether stamps can go on as the record says.
  private func isCurrent(_ metadata: CacheMetadata, isShared: Bool) -> Bool {
    // Where the run cannot be told, those who have it open are of this one.
    let isOfThisRun = metadata.boot.isKnownToBe(.current) || isShared && metadata.boot == .current
    guard isOfThisRun, metadata.stampBase != 0 else { return false }
    // Nobody's clock makes such a stamp; those that are made now would be behind it. While others have the cache open the
    // base stays theirs.
    let now = metadata.stampBase &+ UInt64(truncatingIfNeeded: configuration.clock.monotonic)
    return isShared || metadata.lastStamp <= now &+ 1_000_000_000
  }

  /// What to add to the monotonic clock, so that stamps are greater than all before.
  ///
  /// A database that is made anew within a boot, since its files were deleted, goes on with the base that its processes
  /// have: the wall clock may have been set back since.
  private func stampBase(after last: UInt64, known: ProcessRecord?) -> UInt64 {
    let monotonic = UInt64(truncatingIfNeeded: max(0, configuration.clock.monotonic))
    for base in [displaced?.stampBase, known?.stampBase].compactMap(\.self)
    where base != 0 && base < StampClock.foundLimit
      && last < base &+ monotonic && base &+ monotonic < StampClock.foundLimit
    {
      return base
    }
    // The wall clock may say anything.
    let wall = min(UInt64(max(0, configuration.clock.now)), StampClock.greatestStart)
    return max(wall, last + 1, monotonic + 1) - monotonic
  }

  /// The greatest stamp in the journals of dead processes: their writes were acknowledged, and what is written from now on
  /// is newer.
  private func greatestStampOfJournals() throws(CacheError) -> UInt64 {
    try calling(activity) { () throws(SystemError) in
      let folder = JournalFolder(cache: directory)
      var greatest: UInt64 = 0
      for identifier in try folder.identifiers() {
        guard let journal = try folder.orphan(identifier) else { continue }
        greatest = max(greatest, journal.runs.last?.frames.last?.stamp ?? 0)
      }
      return greatest
    }
  }

  /// The journals that go on from what was committed to another database, which was deleted or set aside, each with the last
  /// stamp that it has there: a new database is told, or a replay would find a gap. Those of processes that live, too: they
  /// may die before they have gone over to it.
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

  /// A database that was marked sound and turns out not to be is verified when it is opened next.
  private func makeMarkVoidIfDamaged(_ error: CacheError) {
    guard error.code == .corruptedRecord || error.code == .damagedDatabase else { return }
    // The opening's error is the one that is told.
    do throws(SystemError) { try CleanExitMark.makeVoid(in: directory) } catch {}
  }
}
