import LMDB
import Logging
import Platform
import Synchronization

/// Keeps a store on the files that are in its directory.
///
/// The files may be deleted or replaced while open (by a cache cleaner, a user, a restored backup), and LMDB gives up
/// on them after some I/O errors. Before every write transaction, and about once a second, the files in the directory
/// are compared with the open ones by device and inode. If they differ, the store switches to the present files or
/// creates new ones. It never writes to an unlinked file, and the data file's own lock keeps two processes with
/// different lock files apart until each has noticed. Memory entries are revalidated, because the new files have
/// greater positions.
///
/// A renamed directory stays the store's. A deleted one is recreated, unless another store of this process is there.
// Sendable: only the writer thread, or opening, uses `untoldJournal`; the rest is constant or Sendable.
final class PlaceKeeper: StorePart, @unchecked Sendable {
  private let place: Mutex<StorePlace>
  private let current: CurrentDirectory
  private let configuration: CacheConfiguration

  private let isReopeningQueued = Atomic<Bool>(false)
  /// A new journal that the value log does not follow yet.
  private var untoldJournal: UInt64?

  init(_ place: StorePlace, _ current: CurrentDirectory, _ configuration: CacheConfiguration) {
    self.place = Mutex(place)
    self.current = current
    self.configuration = configuration
  }

  var directory: Directory { place.withLock { $0.directory } }
  var processLock: ProcessLock { place.withLock { $0.processLock } }

  /// Releases the directory and the process lock: the store object may outlive its closing.
  func close() {
    place.withLock {
      $0.directory = $0.directory.closed()
      $0.processLock = $0.processLock.closed()
    }
    current.value = directory
  }

  // MARK: Files that somebody deletes

  /// Compares the open files with those in the directory. Any thread.
  func displacement() throws(CacheError) -> StoreDisplacement {
    let own = journal.lock.withLock { journal.state.file?.location }
    let open = database.environment.files
    return try place.withLock { (place) throws(CacheError) in
      try calling("Looking for the files of \(database.directoryName)") {
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

  /// Asks for no more than it must: the writers of all processes are waiting.
  func areFilesInPlace() throws(CacheError) -> Bool {
    let open = database.environment.files
    return try calling("Looking for the files of \(database.directoryName)") { () throws(SystemError) in
      let directory = directory
      let data = try directory.identity(of: CacheDirectory.dataName)
      let lockFile = try directory.identity(of: CacheDirectory.lockName)
      return data == open.data && lockFile == open.lockFile
    }
  }

  /// Switches to the files in the directory if they are not the open ones. Writer thread, or before it starts.
  func bringFilesIntoPlace() throws(CacheError) {
    let displacement = try displacement()
    if !displacement.isEmpty { try bringIntoPlace(displacement) }
    try calling("Restoring the values of \(database.directoryName)") {
      // Retry what failed before, even if all files are in place now.
      if let journal = untoldJournal { try store.values.follow(journal: journal) }
      untoldJournal = nil
      try store.values.restoreDeleted()
    }
  }

  private func bringIntoPlace(_ displacement: StoreDisplacement) throws(CacheError) {
    let opened = try reopen(displacement)
    if opened.environment === database.environment {
      // Only the journal or the process lock was displaced; the database is in place.
      database.environment.close()
    } else {
      do throws(CacheError) {
        if !displacement.contains(.journal) { try noteCommittedStamp(in: opened.environment) }
        try calling("Reopening the cache in \(database.directoryName)") {
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
      // Recovery cannot find an unlinked journal, so commit its pending writes at once.
      journal.lock.withLock { journal.renewFile() }
      untoldJournal = journal.identifier
    }
    store.didReopen()
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
      try OpenDirectories.claim(cache.directory, from: directory.identity)
    }
    return try StoreOpening(cache: cache, configuration: configuration, events: events, displaced: displaced).run()
  }

  /// The journal continues after stamps committed to the old files; a replay would otherwise find a gap.
  private func noteCommittedStamp(in environment: Environment) throws(CacheError) {
    let (identifier, stamp) = (journal.identifier, store.committer.committedStamp)
    if stamp == 0 { return }
    try calling("Reopening the cache in \(database.directoryName)") {
      let transaction = try environment.beginWrite()
      try WriteSession.setCommittedStamp(stamp, ofJournal: identifier, transaction)
      try transaction.commit()
    }
  }

  // MARK: Files that LMDB gave up on

  /// Reopens the files after LMDB failed to write its meta page and refuses all calls (`MDB_PANIC`). Writer thread.
  func reopenAfterPanic() throws(LMDBError) {
    try database.environment.reopen()
    store.didReopen()
    database.counters.reopenings.increment()
    events.log(.warning, "cache files were opened again after an I/O error", ["directory": "\(database.directoryName)"])
  }

  /// Schedules a reopening on the writer thread, for readers. Any thread.
  func requestReopening() {
    if isReopeningQueued.exchange(true, ordering: .acquiringAndReleasing) { return }
    let generation = database.environment.generation
    writer.enqueue { [self] in
      isReopeningQueued.store(false, ordering: .releasing)
      // A commit may have reopened already.
      if database.environment.generation != generation { return }
      // If it fails, the next commit or read retries.
      _ = outcome { () throws(LMDBError) in try reopenAfterPanic() }
    }
  }
}
