package import Foundation
package import LMDB
package import Platform

/// Reads the cache in a directory without changing it: creates no file, takes no lock and needs only read permission.
/// It can read caches that cannot be opened, such as another user's or one on a read-only file system.
///
/// The database is read by pread(2), never mapped (``UnmappedFile``), and overlaid with journaled writes
/// (``PendingWrites``). Each call sees one state, never older than the previous call's. Reads count no access and delay
/// no process. (A shared lock of `processes.lock` would keep the last process from marking a clean exit.)
///
/// Memory: a page per tree level, the results, and the keys of journaled writes. Threads: any; calls run one at a time.
// @unchecked: `lock` guards all mutable state.
package final class CacheReader: @unchecked Sendable {
  /// The directory's canonical URL.
  package let directory: URL
  let place: Directory
  var path: String { place.path }
  let transforms: ValueTransforms
  let values: ValueReader
  private let clock: CacheClock
  private let databaseKey = DatabaseKey()

  private let lock = ConditionLock()
  private var file: UnmappedFile
  private var pending = PendingWrites()
  /// The transaction that `pending` belongs to.
  private var pendingTransaction = UInt64.max
  /// The time and duration of the last read of the journals, in nanoseconds.
  private var journalsRead: (time: Int64, duration: Int64) = (0, 0)
  private var foundNotices: Set<String> = []

  private static let greatestAttempts = 1_000
  /// The number of attempts before journals that keep changing are left out.
  private static let patientAttempts = 3
  /// The age, in nanoseconds, at which journals are read again even without a commit.
  private static let journalAge: Int64 = 100_000_000

  /// Opens the cache in a directory, after verifying the database unless it is marked sound. Returns `nil` if the
  /// directory or the database is missing. Changes nothing.
  ///
  /// - Throws: `.damagedDatabase` for an untrusted database, including one with durability `.fast` that a system crash
  ///   interrupted; `.corruptedRecord` for another kind of database; `.unsupportedVersion`, `.invalidDirectory`,
  ///   `.permissionDenied` and others.
  package convenience init?(
    directory: URL, valueTransforms transforms: [any ValueTransform] = [], clock: CacheClock = .system
  ) throws(CacheError) {
    try self.init(directory: directory, transforms, clock, isExamined: false)
  }

  /// - Parameter isExamined: Whether the database was just verified.
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

  /// Descriptions of unreadable files (a damaged journal, for example), writes of which may be missing from the results.
  package var notices: [String] {
    lock.lock()
    defer { lock.unlock() }
    return foundNotices.sorted()
  }

  // MARK: Looking

  var activity: String { "Reading the cache in \(place.path)" }

  /// Runs `body` with the newest state, perhaps repeatedly; its last result comes from one state.
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
        // Without some journals, the pending writes are valid only for this call.
        defer { if !left.isEmpty { pendingTransaction = .max } }
        do throws(ReadingFailure) {
          return try lookOnce(attempt, without: left, body)
        } catch {
          attempt += 1
          pendingTransaction = .max
          guard case .passed(let journal) = error, attempt < Self.greatestAttempts else { throw error }
          hasty.insert(journal)
        }
      }
    } catch {
      throw error.error(during: activity())
    }
  }

  /// - Parameter hasty: Journals whose owners commit too fast to read them. Their writes appear once committed.
  private func lookOnce<R>(
    _ attempt: Int, without hasty: Set<UInt64>, _ body: (EntrySnapshot) throws(ReadingFailure) -> R
  ) throws(ReadingFailure) -> R {
    try goOverToReplacedFile()
    // Before the state is chosen, so that it includes writes committed in between.
    let images = try newImages()?.filter { !hasty.contains($0.identifier) }
    let result = try fromDatabase { () throws(DataFileError) in
      try file.read { (state) throws(DataFileError) -> Result<R, ReadingFailure> in
        do throws(ReadingFailure) {
          return .success(try body(try snapshot(state, images, attempt)))
        } catch {
          // An error from a file being written may not recur.
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
    if pendingTransaction != state.transactionID || images != nil {
      // A process committed between the two reads of the last transaction.
      guard let images else { throw .passed(journal: 0) }
      pending = try laidOver(state, images, cursor)
      pendingTransaction = state.transactionID
    }
    return try EntrySnapshot(
      state, pending, cursor, databaseKey, at: clock.now, attempt: attempt + state.attempt)
  }

  private func laidOver(
    _ state: UnmappedSnapshot, _ images: [JournalImage], _ cursor: UnmappedCursor
  ) throws(ReadingFailure) -> PendingWrites {
    var committed: [UInt64: UInt64] = [:]
    for journal in images {
      committed[journal.identifier] = try WriteSession.committedStampKey(journal.identifier).withBytes {
        (key) throws(ReadingFailure) in
        try fromDatabase { () throws(DataFileError) in
          guard let bytes = try cursor.find(key)?.bytes(), bytes.count == 8 else { return 0 }
          return bytes.loadUnaligned(as: UInt64.self)
        }
      }
    }
    // A process crash preserves every value; a power cut may not.
    return try PendingWrites(images, databaseKey, committed: committed) {
      (pointer, journal) throws(ReadingFailure) in
      let isThere = try fromFiles { () throws(SystemError) in
        journal.isOfThisRun ? try values.isPresent(pointer) : try values.isIntact(pointer)
      }
      // The value may have been committed, replaced and removed since.
      if !isThere, try fromDatabase({ () throws(DataFileError) in try file.lastTransactionID() }) != state.transactionID
      {
        throw .passed(journal: journal.identifier)
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

  /// Throws for another program's database, or a newer version's.
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
    // A new database, before its first transaction.
    case nil where isEmpty: return
    case nil, .corrupted: throw .cache(CacheDirectory.notACache(place, "its own record is missing or damaged"))
    }
  }

  /// Switches files if the database was deleted, replaced or quarantined.
  private func goOverToReplacedFile() throws(ReadingFailure) {
    let current = try fromFiles { () throws(SystemError) in try place.identity(of: CacheDirectory.dataName) }
    if current == file.identity { return }
    guard let replaced = try Self.open(place, activity, isExamined: false) else {
      throw .cache(
        CacheError(
          .invalidDirectory, "There is no cache in \(place.path) any more: its database was deleted meanwhile."))
    }
    file = replaced
    pendingTransaction = .max
  }

  // MARK: Journals

  /// The journals' contents; `nil` if they were just read and nothing was committed since.
  private func newImages() throws(ReadingFailure) -> [JournalImage]? {
    let last = try fromDatabase { () throws(DataFileError) in try file.lastTransactionID() }
    let start = MonotonicClock.nanoseconds
    // Slow reads are repeated less often.
    let age = max(Self.journalAge, 10 * journalsRead.duration)
    if last == pendingTransaction, start - journalsRead.time < age { return nil }
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
      if image?.isDamaged == true {
        foundNotices.insert(
          "\(place.path)/\(JournalName.folder)/\(JournalName.of(identifier)) is damaged: some writes that wait there for "
            + "their commit are not shown")
      }
      return image
    } catch {
      guard error.errno == EACCES, error.finding == nil else { throw error }
      foundNotices.insert("\(error.path) cannot be read: writes that wait there for their commit are not shown")
      return nil
    }
  }

  /// Retries if a journal's file is gone: its writes are in the database, perhaps already replaced.
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

extension CacheReader {
  /// Summarizes the live entries whose keys start with `prefix`.
  ///
  /// - Parameters:
  ///   - depth: The number of key components, each ending with `:` or `/`, to group by.
  ///   - greatestPrefixes: The number of groups to keep, those with the most bytes.
  ///   - isCancelled: Called between pages; the census then covers the entries so far.
  package func census(
    withPrefix prefix: String = "", depth: Int = 1, greatestPrefixes: Int = 100, isCancelled: () -> Bool = { false }
  ) throws -> EntryCensus {
    var census = EntryCensus(depth: depth, greatestPrefixes: greatestPrefixes, at: Date())
    try forEachPage(withPrefix: prefix) { entries in
      for entry in entries { census.add(entry) }
      return !isCancelled()
    }
    census.end()
    return census
  }
}

extension CacheReader {
  /// Identifies a state of the database, to detect changes.
  package struct Position: Hashable, Sendable {
    /// Another file's transaction numbers start over.
    package let file: FileIdentity
    package let transactionID: UInt64
  }

  /// The last committed transaction, regardless of journaled writes.
  package func position() throws(CacheError) -> Position {
    try look(activity) { (snapshot) throws(ReadingFailure) in
      Position(file: snapshot.file.identity, transactionID: snapshot.file.transactionID)
    }
  }

  /// The contents of a cache and the use of its files.
  package struct Figures: Sendable {
    /// `nil` before the first write.
    package var durability: Durability?
    /// Includes expired entries.
    package var entries = 0
    package var totalCost = 0
    package var pendingWrites = 0
    /// Whether `entries` and `totalCost` include journaled writes, which a removal of many entries prevents.
    package var countsPendingWrites = true
    /// See ``CacheStatistics``; space that processes reserve in the value log counts as dead.
    package var liveBytes = 0
    package var deadBytes = 0
    package var freeBytes = 0
    /// The directory's size on disk; `nil` if some files are inaccessible.
    package var bytesOnDisk: Int?
    package var database: DataFileFigures
    /// `nil` if unknown.
    package var readers: ReaderTable?
  }

  /// Returns the figures without a scan.
  package func figures() throws(CacheError) -> Figures {
    var (figures, usedValues) = try look(activity) { (snapshot) throws(ReadingFailure) in
      var figures = Figures(database: snapshot.file.figures)
      if case .metadata(let metadata)? = try snapshot.metadata() {
        figures.durability = metadata.durability
        let change = try snapshot.pendingChange()
        figures.entries = max(0, metadata.count.addingClamped(change?.entries ?? 0))
        figures.totalCost = Int(clamping: metadata.cost + (change?.cost ?? 0))
        figures.countsPendingWrites = change != nil
      }
      figures.pendingWrites = snapshot.pending.count
      let used = try snapshot.valueUsage().values.reduce(0) { $0.addingClamped($1.bytes) }
      return (figures, used)
    }
    try calling(activity) { () throws(SystemError) in
      let used = figures.database.usedBytes
      let allocated = try place.status(of: CacheDirectory.dataName)?.allocatedBytes ?? 0
      figures.liveBytes = used.addingClamped(usedValues)
      figures.freeBytes = max(0, allocated - used)
      figures.bytesOnDisk = try Self.ifAllowed { () throws(SystemError) in try place.allocatedBytes() }
      let segments = try Self.ifAllowed { () throws(SystemError) in
        try ValueFolder(cache: place).segments().reduce(0) {
          $0.addingClamped(max(0, $1.size - ValueSegment.headerSize))
        }
      }
      figures.deadBytes = max(0, (segments ?? 0) - usedValues)
    }
    figures.readers = try storing(activity) { () throws(LMDBError) in try ReaderTable.read(place) }
    return figures
  }

  /// Returns `nil` if access is denied.
  static func ifAllowed<R>(_ body: () throws(SystemError) -> R) throws(SystemError) -> R? {
    do throws(SystemError) {
      return try body()
    } catch {
      if error.finding == nil, error.errno == EACCES { return nil }
      throw error
    }
  }
}

extension CacheReader {
  /// Differs after any write.
  func followedState() throws(CacheError) -> (position: Position, pendingWrites: Int, clearStamp: UInt64) {
    try look(activity) { (snapshot) throws(ReadingFailure) in
      var clearStamp = snapshot.pending.clearStamp
      if case .metadata(let metadata)? = try snapshot.metadata() { clearStamp = max(clearStamp, metadata.clearStamp) }
      let position = Position(file: snapshot.file.identity, transactionID: snapshot.file.transactionID)
      return (position, snapshot.pending.count, clearStamp)
    }
  }

  /// Why a read finds no entry under a key; `nil` if there is one.
  func cause(ofAbsence key: String) throws(CacheError) -> ChangeCause? {
    try look("Reading \(quoted(key))") { (snapshot) throws(ReadingFailure) in
      try withUTF8Bytes(of: key) { (key) throws(ReadingFailure) -> ChangeCause? in
        if try snapshot.find(key, .live, { _ in true }) != nil { return nil }
        let isExpired = try snapshot.find(key, .all) { $0.header.expires != 0 && !$0.header.flags.contains(.absence) }
        return isExpired == true ? .expiry : .write
      }
    }
  }
}

enum ReadingFailure: Error {
  /// From the database file, which is read again before the error is believed.
  case file(DataFileError)
  case system(SystemError)
  case cache(CacheError)
  /// The journal with this identifier was committed during the read, so the read must restart.
  case passed(journal: UInt64)

  func error(during activity: String) -> CacheError {
    switch self {
    case .file(.finding(let finding)):
      CacheError(
        .damagedDatabase,
        "\(activity): the database is damaged: \(finding). Nothing was changed. Put a copy in its place, or have it set "
          + "aside and made anew: a program that opens it with disk.recoversFromDamage, the default, does so.",
        underlying: finding)
    case .file(.unreadable(let error)) where error.code == .busy:
      CacheError(.busy, "\(activity): \(error.message)", underlying: error)
    case .file(.unreadable(let error)): CacheError(error, during: activity)
    case .system(let error): CacheError(error, during: activity)
    case .cache(let error): error
    case .passed:
      CacheError(
        .busy, "\(activity): other processes commit faster than it can be read. Try again when they write less.")
    }
  }
}

@inline(__always)
func fromDatabase<R>(_ body: () throws(DataFileError) -> R) throws(ReadingFailure) -> R {
  do throws(DataFileError) { return try body() } catch { throw .file(error) }
}

@inline(__always)
func fromFiles<R: ~Copyable>(_ body: () throws(SystemError) -> R) throws(ReadingFailure) -> R {
  do throws(SystemError) { return try body() } catch { throw .system(error) }
}
