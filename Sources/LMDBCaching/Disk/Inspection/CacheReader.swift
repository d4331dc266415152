package import Foundation
import LMDB
import Platform

/// Looks at the cache in a directory, and changes nothing: it makes no file and takes no lock, needs no permission but that
/// to read, and can look at what it may not be opened for, such as a cache of another user or of a file system that is
/// mounted read-only, whoever has it open.
///
/// The database is read by pread(2), never mapped: see ``UnmappedFile``. What journals hold and the database does not is laid
/// over it: see ``PendingWrites``. Each call sees one state, a later call a later one. Neither an access is counted, nor does
/// anybody wait for it: not even its looking is to be seen in the directory. (A shared lock of `processes.lock` could be: who
/// closes the cache as the last one would not be the last one then, and would leave it unmarked.)
///
/// Memory: a page for each level of the tree, what a call returns, and the keys of what waits in journals.
///
/// Threads: any; one call at a time goes on.
// @unchecked: what changes is guarded by `lock`.
package final class CacheReader: @unchecked Sendable {
  /// The directory, in its canonical form.
  package let directory: URL
  let place: Directory
  var path: String { place.path }
  let transforms: ValueTransforms
  let values: ValueReader
  private let clock: CacheClock
  private let databaseKey = DatabaseKey()

  private let lock = PlatformMutex()
  private var file: UnmappedFile
  private var pending = PendingWrites(transactionID: .max)
  /// When the journals were read, and how long it took, in nanoseconds.
  private var journalsRead: (time: Int64, duration: Int64) = (0, 0)
  private var foundNotices: Set<String> = []

  /// How often a look is begun anew, because what it saw has passed.
  private static let greatestAttempts = 1_000
  /// After so many attempts what keeps changing is left out.
  private static let patientAttempts = 3
  /// Nanoseconds after which journals are read again, though nothing was committed.
  private static let journalAge: Int64 = 100_000_000

  /// Opens the cache in a directory. Returns `nil` if there is no such directory, or no database in it.
  ///
  /// The database is read as a whole first, unless it is marked as sound.
  ///
  /// - Parameters:
  ///   - transforms: What is needed to read values that were transformed.
  ///   - clock: By which entries expire.
  /// - Throws: `.damagedDatabase` for a database that cannot be believed, be it one with durability `.fast` that was open
  ///   when the operating system stopped; `.corruptedRecord` for one that is no cache; `.unsupportedVersion`,
  ///   `.invalidDirectory`, `.permissionDenied` and others. Nothing was changed.
  package convenience init?(
    directory: URL, valueTransforms transforms: [any ValueTransform] = [], clock: CacheClock = .system
  ) throws(CacheError) {
    try self.init(directory: directory, transforms, clock, isExamined: false)
  }

  /// - Parameter isExamined: Whether the database was just found to be sound.
  init?(
    directory: URL, _ transforms: [any ValueTransform] = [], _ clock: CacheClock = .system, isExamined: Bool
  ) throws(CacheError) {
    let activity = "Looking at the cache in \(directory.path)"
    let found = try calling(activity) { () throws(SystemError) in
      do throws(SystemError) {
        return try Directory(existing: directory.path)
      } catch {
        if error.errno == ENOTDIR { return nil }
        throw error
      }
    }
    guard let found else { return nil }
    place = found
    self.directory = URL(fileURLWithPath: found.path, isDirectory: true)
    self.transforms = ValueTransforms(transforms: transforms)
    self.clock = clock
    values = ValueReader(CurrentDirectory(found), segmentSize: 0, maps: false)
    do throws(ReadingFailure) {
      guard let file = try Self.open(found, activity, isExamined: isExamined) else { return nil }
      self.file = file
    } catch {
      throw error.error(during: activity)
    }
  }

  /// What could not be looked at and is missing in what is shown, in words: a journal that cannot be read, say.
  package var notices: [String] {
    lock.lock()
    defer { lock.unlock() }
    return foundNotices.sorted()
  }

  // MARK: Looking

  var activity: String { "Reading the cache in \(place.path)" }

  /// Runs `body` with the newest state, perhaps more than once: what it returned last is of one state.
  func look<R>(
    _ activity: @autoclosure () -> String, _ body: (EntrySnapshot) throws(ReadingFailure) -> R
  ) throws(CacheError) -> R {
    lock.lock()
    defer { lock.unlock() }
    var hasty: Set<UInt64> = []
    var attempt = 0
    do throws(ReadingFailure) {
      while true {
        let left = attempt < Self.patientAttempts ? [] : hasty
        // What is known without some of the journals is for this look alone.
        defer { if !left.isEmpty { pending = PendingWrites(transactionID: .max) } }
        do throws(ReadingFailure) {
          return try lookOnce(attempt, without: left, body)
        } catch {
          attempt += 1
          pending = PendingWrites(transactionID: .max)
          guard case .passed(let journal) = error, attempt < Self.greatestAttempts else { throw error }
          hasty.insert(journal)
        }
      }
    } catch {
      throw error.error(during: activity())
    }
  }

  /// - Parameter hasty: Journals whose owners commit faster than they can be read. What waits there is left out: it is seen
  ///   when it is committed, as other processes see it.
  private func lookOnce<R>(
    _ attempt: Int, without hasty: Set<UInt64>, _ body: (EntrySnapshot) throws(ReadingFailure) -> R
  ) throws(ReadingFailure) -> R {
    try goOverToReplacedFile()
    // Before the state is chosen: what is committed in between is in the state.
    let images = try newImages()?.filter { !hasty.contains($0.identifier) }
    let result = try fromDatabase { () throws(DataFileError) in
      try file.read { (state) throws(DataFileError) -> Result<R, ReadingFailure> in
        do throws(ReadingFailure) {
          return .success(try body(try snapshot(state, images, attempt)))
        } catch {
          // Of a file that is being written to it may be true at the next try.
          if case .file(let error) = error { throw error }
          return .failure(error)
        }
      }
    }
    try checkJournals()
    return try result.get()
  }

  private func snapshot(
    _ state: UnmappedSnapshot, _ images: [JournalImage]?, _ attempt: Int
  ) throws(ReadingFailure) -> EntrySnapshot {
    let cursor = try fromDatabase { () throws(DataFileError) in try UnmappedCursor(state) }
    if pending.transactionID != state.transactionID || images != nil {
      // Committed between the two looks at which transaction is the last.
      guard let images else { throw .passed(journal: 0) }
      pending = try laidOver(state, images, cursor)
    }
    return try EntrySnapshot(
      state, pending, cursor, databaseKey, at: clock.now, attempt: attempt + state.attempt)
  }

  private func laidOver(
    _ state: UnmappedSnapshot, _ images: [JournalImage], _ cursor: UnmappedCursor
  ) throws(ReadingFailure) -> PendingWrites {
    let id = state.transactionID
    if images.allSatisfy({ $0.frames.isEmpty }) { return PendingWrites(transactionID: id) }
    let metadata = try fromDatabase { () throws(DataFileError) in
      try CacheMetadata.key.withBytes { (key) throws(DataFileError) in
        try cursor.find(key).map { (value) throws(DataFileError) in CacheMetadata.read(try value.bytes()) }
      }
    }
    var (cleared, isOfThisRun): (UInt64, Bool) = (0, false)
    if case .metadata(let metadata)? = metadata {
      (cleared, isOfThisRun) = (metadata.clearStamp, metadata.boot.isKnownToBe(.current))
    }
    // The death of a process leaves every value; a power cut may not.
    return try PendingWrites(images, cursor, transactionID: id, clearedAt: cleared, databaseKey) {
      (pointer, journal) throws(ReadingFailure) in
      let isThere = try fromFiles { () throws(SystemError) in
        isOfThisRun ? try values.isPresent(pointer) : try values.isIntact(pointer)
      }
      // It may be gone since it was committed, and replaced.
      if !isThere, try fromDatabase({ () throws(DataFileError) in try file.lastTransactionID() }) != id {
        throw .passed(journal: journal)
      }
      return isThere
    }
  }

  // MARK: Files that change their places

  private static func open(
    _ place: Directory, _ activity: String, isExamined: Bool
  ) throws(ReadingFailure) -> UnmappedFile? {
    guard let file = try fromDatabase({ () throws(DataFileError) in try UnmappedFile.open(place) }) else { return nil }
    do throws(CacheError) {
      if !isExamined { try SoundnessCheck(directory: place, activity: activity).run() }
    } catch {
      throw .cache(error)
    }
    try checkIsCache(file, place)
    return file
  }

  /// Throws for a database that is another program's, or a newer version's.
  private static func checkIsCache(_ file: UnmappedFile, _ place: Directory) throws(ReadingFailure) {
    let (reading, isEmpty) = try fromDatabase { () throws(DataFileError) in
      try file.read { (state) throws(DataFileError) in
        let cursor = try UnmappedCursor(state)
        let reading = try CacheMetadata.key.withBytes { (key) throws(DataFileError) in
          try cursor.find(key).map { (value) throws(DataFileError) in CacheMetadata.read(try value.bytes()) }
        }
        return (reading, state.figures.entries == 0)
      }
    }
    switch reading {
    case .metadata: return
    case .newerVersion: throw .cache(SoundnessCheck.newerVersion(place))
    // A new one, before its first transaction.
    case nil where isEmpty: return
    case nil, .corrupted: throw .cache(CacheDirectory.notACache(place, "its own record is missing or damaged"))
    }
  }

  /// The database may have been deleted, replaced or set aside since.
  private func goOverToReplacedFile() throws(ReadingFailure) {
    let current = try fromFiles { () throws(SystemError) in try place.identity(of: CacheDirectory.dataName) }
    if current == file.identity { return }
    guard let replaced = try Self.open(place, activity, isExamined: false) else {
      throw .cache(
        CacheError(
          .invalidDirectory, "There is no cache in \(place.path) any more: its database was deleted meanwhile."))
    }
    file = replaced
    pending = PendingWrites(transactionID: .max)
  }

  // MARK: Journals

  /// What is in the journals now; `nil` if they were read a moment ago, and nothing was committed since.
  private func newImages() throws(ReadingFailure) -> [JournalImage]? {
    let last = try fromDatabase { () throws(DataFileError) in try file.lastTransactionID() }
    let start = MonotonicClock.nanoseconds
    // What takes long is not done all the time.
    let age = max(Self.journalAge, 10 * journalsRead.duration)
    if last == pending.transactionID, start - journalsRead.time < age { return nil }
    values.forgetRemoved()
    foundNotices = []
    var images: [JournalImage] = []
    let folder = JournalFolder(cache: place)
    do throws(SystemError) {
      for identifier in try folder.identifiers() {
        if let image = try image(identifier, folder) { images.append(image) }
      }
    } catch {
      guard error.errno == EACCES, error.finding == nil else { throw .system(error) }
      foundNotices.insert("\(error.path) cannot be read: writes that wait there for their commit are not shown")
    }
    let end = MonotonicClock.nanoseconds
    journalsRead = (end, end - start)
    return images
  }

  private func image(_ identifier: UInt64, _ folder: JournalFolder) throws(SystemError) -> JournalImage? {
    do throws(SystemError) {
      let image = try folder.image(identifier)
      guard let image, image.isDamaged else { return image }
      foundNotices.insert(
        "\(place.path)/\(JournalName.folder)/\(JournalName.of(identifier)) is damaged: writes that wait there for their "
          + "commit are not shown")
      return nil
    } catch {
      guard error.errno == EACCES, error.finding == nil else { throw error }
      foundNotices.insert("\(error.path) cannot be read: writes that wait there for their commit are not shown")
      return nil
    }
  }

  /// A journal whose file is gone is in the database by now, and what was known of it there may be gone as well.
  private func checkJournals() throws(ReadingFailure) {
    if pending.journals.isEmpty { return }
    let folder = JournalFolder(cache: place)
    for journal in pending.journals {
      let identity = try fromFiles { () throws(SystemError) in try folder.identity(of: journal.identifier) }
      guard identity == journal.identity else {
        throw .passed(journal: journal.identifier)
      }
    }
  }
}
