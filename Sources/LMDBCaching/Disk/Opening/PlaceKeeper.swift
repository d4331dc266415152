import LMDB
import Logging
import Platform
import Synchronization

/// Keeps a store on the files that are in its directory.
///
/// Somebody may delete or replace them while they are open: a cleaner of caches, a user, a backup that is put back; and
/// LMDB gives up on them after some I/O errors. Before every write transaction, and about every second, the files in the
/// directory are compared with those that are open, by device and inode. If they differ, the store goes over to what is
/// there now, or makes it anew. Nothing is written into a file that has no name any more, and no two processes write with
/// two lock files: the data file's own lock keeps them apart until each has noticed. Whatever memory holds is looked at
/// again: transactions of the new files have greater positions than all before.
///
/// A directory that is renamed stays the store's, wherever it is. One that is deleted is made anew at its path, unless
/// another store of this process has come to be there.
// Sendable: the hooks are set once; `untoldJournal` is the writer thread's, or opening's before that is started; the rest
// is Sendable.
final class PlaceKeeper: @unchecked Sendable {
  private let place: Mutex<StorePlace>
  private let current: CurrentDirectory
  private let database: EntryDatabase
  private let journal: Journal
  private let configuration: CacheConfiguration
  private let events: EventLog

  /// The stamp of the last write of the journal that is in the database.
  var committedStamp: () -> UInt64 = { 0 }
  /// Puts values back whose segments somebody deleted before their records were committed.
  var restoreValues: () throws(SystemError) -> Void = {}
  /// Told that writes go into another journal.
  var didRenewJournal: (UInt64) throws(SystemError) -> Void = { _ in }
  /// Told of another directory at the path of one that was deleted. Throws if somebody else of this process has it open.
  var claim: (Directory, _ former: FileIdentity) throws(CacheError) -> Void = { _, _ in }
  /// Told that the cause of a failure may be gone with the files.
  var didReopen: () -> Void = {}

  private let isReopeningQueued = Atomic<Bool>(false)
  /// A new journal that ``didRenewJournal`` was not told of without an error yet.
  private var untoldJournal: UInt64?

  init(
    _ place: StorePlace, _ current: CurrentDirectory, _ database: EntryDatabase, _ journal: Journal,
    _ configuration: CacheConfiguration, events: EventLog
  ) {
    self.place = Mutex(place)
    self.current = current
    self.database = database
    self.journal = journal
    self.configuration = configuration
    self.events = events
  }

  var directory: Directory { place.withLock { $0.directory } }
  var processLock: ProcessLock { place.withLock { $0.processLock } }

  /// Gives up the directory and the processes' lock: the store may outlive its closing.
  func close() {
    place.withLock {
      $0.directory = $0.directory.closed()
      $0.processLock = $0.processLock.closed()
    }
    current.value = directory
  }

  // MARK: Files that somebody deletes

  /// Compares the files that are open with those in the directory. Any thread.
  func displacement() throws(CacheError) -> StoreDisplacement {
    let own = journal.lock.withLock { journal.state.file?.location }
    let open = database.environment.files
    return try place.withLock { (place) throws(CacheError) in
      try calling("Looking for the files of \(database.directoryName)") { () throws(SystemError) in
        var displacement: StoreDisplacement = []
        let directory = place.directory
        if try CacheDirectory(directory).isDeleted() { displacement.insert(.directory) }
        let data = try directory.status(of: CacheDirectory.dataName)
        if data?.identity != open.data { displacement.insert(.data) }
        if try directory.identity(of: CacheDirectory.lockName) != open.lockFile { displacement.insert(.lockFile) }
        if try directory.identity(of: ProcessLock.name) != place.processLock.identity {
          displacement.insert(.processLock)
        }
        if let own, try JournalFolder(cache: directory).identity(of: own.identifier) != own.identity {
          displacement.insert(.journal)
        }
        if let data, data.identity == open.data {
          if data.size < place.dataSize { displacement.insert(.isTruncated) }
          place.dataSize = max(place.dataSize, data.size)
        }
        return displacement
      }
    }
  }

  /// Whether the database's files are in the directory.
  func areFilesInPlace() throws(CacheError) -> Bool {
    let open = database.environment.files
    return try calling("Looking for the files of \(database.directoryName)") { () throws(SystemError) in
      let directory = directory
      let data = try directory.identity(of: CacheDirectory.dataName)
      let lockFile = try directory.identity(of: CacheDirectory.lockName)
      return data == open.data && lockFile == open.lockFile
    }
  }

  /// Goes over to what is in the directory now, if it is not what is open. On the writer thread, or before it is started.
  func bringFilesIntoPlace() throws(CacheError) {
    let displacement = try displacement()
    if !displacement.isEmpty { try bringIntoPlace(displacement) }
    try calling("Restoring the values of \(database.directoryName)") { () throws(SystemError) in
      // What failed before is made up for, though all files are in their places now.
      if let journal = untoldJournal { try didRenewJournal(journal) }
      untoldJournal = nil
      try restoreValues()
    }
  }

  private func bringIntoPlace(_ displacement: StoreDisplacement) throws(CacheError) {
    let opened = try reopen(displacement)
    if opened.environment === database.environment {
      // The database is in its place: it was the journal, or the processes' lock.
      database.environment.close()
    } else {
      do throws(CacheError) {
        if !displacement.contains(.journal) { try noteCommittedStamp(in: opened.environment) }
        try storing("Reopening the cache in \(database.directoryName)") { () throws(LMDBError) in
          try database.environment.adopt(opened.environment)
        }
      } catch {
        opened.environment.close()
        throw error
      }
    }
    place.withLock { $0 = opened.place }
    current.value = opened.place.directory
    journal.lock.withLock {
      journal.state.stamps.base = opened.metadata.stampBase
      journal.state.stamps.advance(to: opened.metadata.lastStamp)
    }
    if displacement.contains(.journal) {
      // A journal without a name is applied by nobody. What waits in it is committed at once.
      try journal.lock.withLock { () throws(CacheError) in try journal.renewFile() }
      untoldJournal = journal.identifier
    }
    didReopen()
    database.counters.reopenings.increment()
    events.log(
      .warning, "cache files were deleted or replaced while open: reopened",
      ["directory": "\(database.directoryName)", "displaced": "\(displacement.names)"])
  }

  private func reopen(_ displacement: StoreDisplacement) throws(CacheError) -> StoreOpening.Opened {
    let displaced = DisplacedFiles(
      files: database.environment.files, displacement: displacement,
      processLock: displacement.isDisjoint(with: [.directory, .processLock]) ? processLock : nil,
      journal: journal.identifier, stampBase: journal.lock.withLock { journal.state.stamps.base })
    var cache = CacheDirectory(directory)
    if displacement.contains(.directory) {
      cache = try CacheDirectory(path: directory.path, allowsOtherUsers: configuration.disk.allowsOtherUsers)
      try claim(cache.directory, directory.identity)
    }
    return try StoreOpening(cache: cache, configuration: configuration, events: events, displaced: displaced).run()
  }

  /// What the journal goes on from was committed to the old files; without this a replay would find a gap before it.
  private func noteCommittedStamp(in environment: Environment) throws(CacheError) {
    guard let identifier = journal.identifier else { return }
    let stamp = committedStamp()
    try storing("Reopening the cache in \(database.directoryName)") { () throws(LMDBError) in
      let transaction = try environment.beginWrite()
      try WriteSession.setCommittedStamp(stamp, ofJournal: identifier, transaction)
      try transaction.commit()
    }
  }

  // MARK: Files that LMDB gave up on

  /// Opens the files again, since LMDB refuses everything once it could not write its meta page (`MDB_PANIC`). On the
  /// writer thread.
  func reopenAfterPanic() throws(LMDBError) {
    try database.environment.reopen()
    didReopen()
    database.counters.reopenings.increment()
    events.log(
      .warning, "cache files were opened again after an I/O error", ["directory": "\(database.directoryName)"])
  }

  /// For who reads: the writer thread does it next. Any thread.
  func requestReopening(_ writer: Writer) {
    if isReopeningQueued.exchange(true, ordering: .acquiringAndReleasing) { return }
    let generation = database.environment.generation
    writer.enqueue { [self] in
      isReopeningQueued.store(false, ordering: .releasing)
      // A commit may have done it meanwhile.
      if database.environment.generation != generation { return }
      // If it fails, the next commit or the next read tries it again.
      _ = outcome { () throws(LMDBError) in try reopenAfterPanic() }
    }
  }
}
