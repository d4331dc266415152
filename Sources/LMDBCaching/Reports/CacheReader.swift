package import Foundation
package import LMDB
package import Platform

/// Reads the cache in a directory without opening it: as a participant with a slot in the reader table, for the time of
/// a call. It reads without a slot where it may not write to the files, or where the processes of the cache could not
/// tell whether this one lives; then again, if others wrote over the pages.
///
/// It shows the committed entries, overlaid with journaled writes (``PendingWrites``). Each call sees one state, never
/// older than the previous call's. Reads count no access.
///
/// Memory: the results, and the frames of the journals. Threads: any; calls run one at a time.
// @unchecked: `lock` guards all mutable state.
package final class CacheReader: @unchecked Sendable {
  /// The directory's canonical URL.
  package let directory: URL
  let place: Directory
  private let transforms: ValueTransforms
  private let values: ValueReader
  private let clock: CacheClock
  private let databaseKey = DatabaseKey()

  private let lock = ConditionLock()
  /// The database that was checked. It stays open, so that no other file gets its inode.
  private var checked: FileIdentity?
  private var checkedFile: File?
  /// Why the reader takes no slot; `nil` if it takes one.
  private var slotObstacle: String?
  private var images: [JournalImage] = []
  private var pending = PendingWrites()
  /// The transaction that `pending` belongs to.
  private var pendingTransaction = UInt64.max
  /// The time and duration of the last read of the journals, in nanoseconds.
  private var journalsRead: (time: Int64, duration: Int64) = (0, 0)
  private var foundNotices: Set<String> = []
  /// Whether a record or value of the present attempt was damaged or missing.
  private var sawDamage = false

  private static let greatestAttempts = 1_000
  /// The number of attempts before damage is reported that a commit may explain.
  private static let patientAttempts = 100
  /// The age, in nanoseconds, at which journals are read again even without a commit.
  private static let journalAge: Int64 = 100_000_000
  /// Nanoseconds to wait for a process that is suspended while it changes the reader table.
  private static let lockTimeout: UInt64 = 10_000_000_000

  /// Finds the cache in a directory, and verifies the database unless it is marked sound. Returns `nil` if the directory
  /// or the database is missing.
  ///
  /// - Parameter isExamined: Whether the database was just verified.
  /// - Throws: `.damagedDatabase` for an untrusted database, including one with durability `.fast` that a system crash
  ///   interrupted; `.corruptedRecord` for another kind of database; `.unsupportedVersion`, `.invalidDirectory`,
  ///   `.permissionDenied` and others.
  package init?(
    directory: URL, valueTransforms: [any ValueTransform] = [], clock: CacheClock = .system, isExamined: Bool = false
  ) throws(CacheError) {
    let found = try calling("Looking at the cache in \(directory.path)") { () throws(SystemError) in
      do throws(SystemError) { return try Directory(existing: directory.path) } catch {
        if error.errno == ENOTDIR { return nil }
        throw error
      }
    }
    guard let found else { return nil }
    place = found
    self.directory = URL(fileURLWithPath: found.path, isDirectory: true)
    transforms = ValueTransforms(transforms: valueTransforms)
    self.clock = clock
    values = ValueReader(CurrentDirectory(found), segmentSize: 0, maps: false)
    guard let data = try identity() else { return nil }
    if isExamined { try note(checked: data) }
    _ = try state()
  }

  /// Descriptions of unreadable files (a damaged journal, for example), whose writes may be missing from the results.
  package var notices: [String] {
    lock.lock()
    defer { lock.unlock() }
    return foundNotices.sorted()
  }

  // MARK: Looking

  private var activity: String { "Reading the cache in \(place.path)" }

  /// Runs `body` with the newest state, perhaps repeatedly; its last result comes from one state.
  func look<R>(
    _ activity: @autoclosure () -> String,
    _ body: (borrowing EntrySnapshot, _ attempt: Int, Environment) throws(CacheError) -> R
  ) throws(CacheError) -> R {
    lock.lock()
    defer { lock.unlock() }
    for attempt in 0..<Self.greatestAttempts {
      let environment = try open()
      defer { environment.close() }
      // Before the snapshot, which so includes the writes that are committed from now on.
      try readJournals(environment.lastTransactionID)
      sawDamage = false
      var transaction = UInt64.max
      let found = outcome { () throws(LMDBError) in
        try environment.withReadTransaction { (txn) throws(LMDBError) in
          transaction = txn.id
          return try lookOnce(txn, environment, attempt, body)
        }
      }
      let isFailure = if case .success(.success?) = found { sawDamage } else { true }
      if isOfOneState(transaction, now: environment.lastTransactionID, isFailure: isFailure, attempt),
        let result = try calling(activity(), { () throws(LMDBError) in try found.get() })
      {
        return try result.get()
      }
      pendingTransaction = .max
    }
    throw CacheError(
      .busy, "\(activity()): other processes commit faster than it can be read. Try again when they write less.")
  }

  /// Without a slot, the pages of a state are reused after the next commit but one, and its values may go after the next.
  private func isOfOneState(_ transaction: UInt64, now last: UInt64, isFailure: Bool, _ attempt: Int) -> Bool {
    if slotObstacle == nil || transaction == .max { return true }
    return last <= transaction + (isFailure && attempt < Self.patientAttempts ? 0 : 1)
  }

  /// Returns `nil` if a journal was committed since it was read: its writes are in the database, perhaps already replaced.
  private func lookOnce<R>(
    _ txn: borrowing ReadTransaction, _ environment: Environment, _ attempt: Int,
    _ body: (borrowing EntrySnapshot, Int, Environment) throws(CacheError) -> R
  ) throws(LMDBError) -> Result<R, CacheError>? {
    if pendingTransaction != txn.id {
      var committed: [UInt64: UInt64] = [:]
      for image in images {
        committed[image.identifier] = try EntryDatabase.committedStamp(ofJournal: image.identifier, txn)
      }
      switch outcome({ () throws(CacheError) in try layOver(committed) }) {
      case .failure(let error): return .failure(error)
      case .success(let isInPlace):
        // A value that is gone may have been committed and replaced.
        let isPassed = sawDamage && environment.lastTransactionID != txn.id && attempt < Self.patientAttempts
        if isPassed || !isInPlace { return nil }
      }
      pendingTransaction = txn.id
    }
    let snapshot = try EntrySnapshot(txn, databaseKey, at: clock.now, pending: pending)
    switch snapshot.reading {
    case .metadata: break
    case .newerVersion: return .failure(SoundnessCheck.newerVersion(place))
    case nil where try txn.statistics().entries == 0: break
    case nil, .corrupted:
      return .failure(CacheDirectory.notACache(place, "its own record is missing or damaged"))
    }
    return outcome { () throws(CacheError) in try body(snapshot, attempt, environment) }
  }

  /// Selects the journals' writes that the database lacks. Returns whether their files are still in their places.
  private func layOver(_ committed: [UInt64: UInt64]) throws(CacheError) -> Bool {
    try calling(activity) { () throws(SystemError) in
      // A process crash preserves every value; a power cut may not.
      pending = try PendingWrites(images, databaseKey, committed: committed) {
        (pointer, journal) throws(SystemError) in
        let isThere = try journal.isOfThisRun ? values.isPresent(pointer) : values.isIntact(pointer)
        if !isThere { sawDamage = true }
        return isThere
      }
      let folder = JournalFolder(cache: place)
      for journal in pending.journals where try folder.identity(of: journal.identifier) != journal.identity {
        return false
      }
      return true
    }
  }

  // MARK: The database

  private func identity() throws(CacheError) -> FileIdentity? {
    try calling(activity) { () throws(SystemError) in
      // LMDB treats an empty file as new.
      guard let status = try place.status(of: CacheDirectory.dataName), status.kind != .regular || status.size > 0
      else { return nil }
      return status.identity
    }
  }

  /// Opens the database for a moment. A database that came into its place is checked first.
  private func open() throws(CacheError) -> Environment {
    guard let data = try identity() else {
      throw CacheError(
        .invalidDirectory, "There is no cache in \(place.path) any more: its database was deleted meanwhile.")
    }
    if data != checked {
      try SoundnessCheck(directory: place, activity: activity).run()
      try note(checked: data)
    }
    slotObstacle = try calling(activity, findSlotObstacle)
    let environment = try openEnvironment()
    if environment.files.data == checked { return environment }
    // Another file came into its place since the check.
    environment.close()
    return try open()
  }

  private func note(checked data: FileIdentity) throws(CacheError) {
    checkedFile = try calling(activity) { () throws(SystemError) in try place.open(CacheDirectory.dataName) }
    (checked, pendingTransaction) = (data, .max)
  }

  private func findSlotObstacle() throws(SystemError) -> String? {
    if try Self.ifAllowed(place.checkWritable) == nil { return "the directory cannot be written to" }
    // One made by another user than the owner would lock the owner out.
    if try place.kind(of: CacheDirectory.lockName) == nil { return "there is no lock file" }
    let record = try Self.ifAllowed { () throws(SystemError) -> ProcessRecord? in
      guard let file = try place.open(ProcessLock.name) else { return nil }
      return try ProcessRecord(file)
    }
    if let files = record??.files, files.data != checked,
      try files.lockFile == place.identity(of: CacheDirectory.lockName)
    {
      return "the lock file belongs to another database"
    }
    return record??.isOfOtherNamespace == true ? "its last processes were of another PID namespace" : nil
  }

  private func openEnvironment() throws(CacheError) -> Environment {
    var options = Environment.Options()
    (options.isReadOnly, options.isBrief, options.usesLockFile) = (true, true, slotObstacle == nil)
    (options.readerPoolSize, options.waits.otherProcesses) = (1, Self.lockTimeout)
    do throws(LMDBError) { return try Environment.open(place, options: options) } catch {
      guard slotObstacle == nil, error.code == .permissionDenied else { throw CacheError(error, during: activity) }
      slotObstacle = "the lock file cannot be written to"
      return try openEnvironment()
    }
  }

  // MARK: Journals

  /// Reads the journals, unless they were just read and nothing was committed since.
  private func readJournals(_ lastTransaction: UInt64) throws(CacheError) {
    let start = MonotonicClock.nanoseconds
    // Slow reads are repeated less often.
    let age = max(Self.journalAge, 10 * journalsRead.duration)
    if lastTransaction == pendingTransaction, start - journalsRead.time < age { return }
    values.forgetRemoved()
    (foundNotices, pendingTransaction, images) = ([], .max, [])
    try calling(activity) { () throws(SystemError) in
      func note(_ name: String, _ finding: String) {
        foundNotices.insert("\(place.path(of: name)) \(finding) that wait there for their commit are not shown")
      }
      let folder = JournalFolder(cache: place)
      guard let identifiers = try Self.ifAllowed({ () throws(SystemError) in try folder.identifiers() }) else {
        return note(JournalName.folder, "cannot be read: writes")
      }
      for identifier in identifiers {
        let name = "\(JournalName.folder)/\(JournalName.of(identifier))"
        guard let image = try Self.ifAllowed({ () throws(SystemError) in try folder.image(identifier) }) else {
          note(name, "cannot be read: writes")
          continue
        }
        if let image { images.append(image) }
        if image?.isDamaged == true { note(name, "is damaged: some writes") }
      }
    }
    let end = MonotonicClock.nanoseconds
    journalsRead = (end, end - start)
  }

  /// Returns `nil` if access is denied.
  static func ifAllowed<R>(_ body: () throws(SystemError) -> R) throws(SystemError) -> R? {
    do throws(SystemError) { return try body() } catch {
      if error.finding == nil, [EACCES, EPERM, EROFS].contains(error.errno) { return nil }
      throw error
    }
  }
}

extension CacheReader {
  /// Differs after any write.
  package struct State: Hashable, Sendable {
    /// Another file's transaction numbers start over.
    package let file: FileIdentity
    package let transactionID: UInt64
    let pendingWrites: Int
    let clearStamp: UInt64
  }

  package func state() throws(CacheError) -> State {
    try look(activity) { (snapshot, _, environment) throws(CacheError) in
      State(
        file: environment.files.data, transactionID: snapshot.transactionID,
        pendingWrites: snapshot.pending.count, clearStamp: snapshot.clearStamp)
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
    package var database: Environment.Info
    /// The open snapshots of other processes; empty without a slot in their table.
    package var readers: [Environment.Reader]
    /// Why the reader takes no slot; `nil` if it takes one.
    package var slotObstacle: String?
  }

  /// Returns the figures without a scan.
  package func figures() throws(CacheError) -> Figures {
    try look(activity) { (snapshot, _, environment) throws(CacheError) in
      var (database, change, used, readers) = try calling(activity) { () throws(LMDBError) in
        (try environment.info(), try snapshot.pendingChange(), try snapshot.valueBytes(), try environment.readers())
      }
      database.main = try calling(activity) { () throws(LMDBError) in try snapshot.tree() }
      (database.mapSize, database.lastTransactionID) = (environment.recordedMapSize, snapshot.transactionID)
      readers.removeAll { $0.process == getpid() }
      var figures = Figures(database: database, readers: readers, slotObstacle: slotObstacle)
      if let metadata = snapshot.metadata {
        figures.durability = metadata.durability
        figures.entries = max(0, metadata.count.addingClamped(change?.entries ?? 0))
        figures.totalCost = Int(clamping: metadata.cost + (change?.cost ?? 0))
        figures.countsPendingWrites = change != nil
      }
      figures.pendingWrites = snapshot.pending.count
      figures.liveBytes = database.main.usedBytes.addingClamped(used)
      try calling(activity) { () throws(SystemError) in
        let allocated = try place.status(of: CacheDirectory.dataName)?.allocatedBytes ?? 0
        figures.freeBytes = max(0, allocated - database.main.usedBytes)
        figures.bytesOnDisk = try Self.ifAllowed { () throws(SystemError) in try place.allocatedBytes() }
        let segments = try Self.ifAllowed { () throws(SystemError) in
          try ValueFolder(cache: place).segments().reduce(0) {
            $0.addingClamped(max(0, $1.size - ValueSegment.headerSize))
          }
        }
        figures.deadBytes = max(0, (segments ?? 0) - used)
      }
      return figures
    }
  }

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
  /// The maximum size of a page's elements before the last one, and the number of records to copy at a time.
  private static let bytesAtOnce = 4 << 20
  private static let recordsAtOnce = 256

  /// The live entry under a key, without verifying its checksum.
  package func entry(forKey key: String) throws(CacheError) -> CacheEntry? {
    try find(key) { (found, _) in found.entry }
  }

  /// The live entry under a key with its value.
  ///
  /// - Throws: `.corruptedRecord` if a checksum does not match; `.unsupportedRecord`; `.busy` if it keeps changing.
  package func record(forKey key: String) throws(CacheError) -> EntryRecord? {
    try find(key) { (found, snapshot) throws(CacheError) in try snapshot.record(found, values) }
  }

  /// Why a read finds no entry under a key; `nil` if there is one.
  func cause(ofAbsence key: String) throws(CacheError) -> ChangeCause? {
    if try entry(forKey: key) != nil { return nil }
    let isExpired = try find(key, .all) { (found, _) in
      found.header.map { $0.isExpired(at: clock.now) && !$0.flags.contains(.absence) }
    }
    return isExpired == true ? .expiry : .write
  }

  private func find<R>(
    _ key: String, _ selection: EntrySelection = .live,
    _ body: (FoundRecord, borrowing EntrySnapshot) throws(CacheError) -> R?
  ) throws(CacheError) -> R? {
    try look("Reading \(quoted(key))") { (snapshot, _, _) throws(CacheError) in
      try withUTF8Bytes(of: key) { (key) throws(CacheError) -> R? in
        let found = try calling(activity) { () throws(LMDBError) in try snapshot.find(key, selection) }
        guard let found else { return nil }
        if found.header == nil { throw .unreadable(found.bytes, String(utf8: key)) }
        return try body(found, snapshot)
      }
    }
  }

  /// The archived value of a record.
  ///
  /// - Throws: `.missingTransform`, `.decodingFailed`.
  package func archive(of record: EntryRecord) throws(CacheError) -> Data {
    guard record.isTransformed else { return record.stored }
    return try CacheKey.with(record.key) { (key) throws(CacheError) in
      try record.stored.withBytes { (bytes) throws(CacheError) in
        try transforms.restore(bytes, record.header, record.entry.tags, key)
      }
    }
  }

  /// Decodes the value of a record.
  ///
  /// - Throws: `.typeMismatch`, `.decodingFailed`, `.missingTransform`.
  package func value<V: Codable>(_ type: V.Type = V.self, of record: EntryRecord) throws(CacheError) -> V {
    try archive(of: record).withBytes { (bytes) throws(CacheError) in
      try ValueArchiver.value(type, from: bytes, format: record.format, forKey: record.key)
    }
  }

  package func value<V: Codable>(_ type: V.Type = V.self, forKey key: String) throws(CacheError) -> V? {
    try record(forKey: key).map { (record) throws(CacheError) in try value(type, of: record) }
  }

  // MARK: Many

  /// A page of the entries whose keys start with `prefix`, from one state. Keys of 1 to 511 bytes come first, in byte
  /// order; the others follow in database order.
  ///
  /// - Parameters:
  ///   - place: The end of the previous page; `nil` for the first.
  ///   - limit: The number of records to examine, at least 1. Pages may be shorter, or empty, and end at 4 MiB.
  package func page(
    withPrefix prefix: String = "", after place: EntryPlace? = nil, limit: Int, selection: EntrySelection = .live
  ) throws(CacheError) -> EntryPage {
    let (entries, next) = try scan(prefix, after: place, limit: limit, selection) { (found, _) in
      found.entry.map { ($0, $0.key.utf8.count) }
    }
    return EntryPage(entries: entries, next: next)
  }

  /// Calls `body` with each page of entries, each from its own state, until it returns `false`.
  ///
  /// - Parameter all: Whether to include expired entries that are not yet removed.
  package func forEachPage(
    withPrefix prefix: String = "", pageSize: Int = 1_000, all: Bool = false, _ body: ([CacheEntry]) throws -> Bool
  ) throws {
    var place: EntryPlace?
    repeat {
      let page = try page(withPrefix: prefix, after: place, limit: pageSize, selection: all ? .all : .live)
      if try !page.entries.isEmpty && !body(page.entries) { return }
      place = page.next
    } while place != nil
  }

  /// Calls `body` with each entry and its value until it returns `false`. Reads several states, so it may or may not
  /// include entries changed during the call.
  ///
  /// - Parameter onDamage: Called with the error of an unreadable entry; reading continues if it returns.
  package func forEachRecord(
    withPrefix prefix: String = "", selection: EntrySelection = .live, onDamage: (CacheError) throws -> Void,
    _ body: (EntryRecord) throws -> Bool
  ) throws {
    var place: EntryPlace?
    repeat {
      let (records, next) = try scan(prefix, after: place, limit: Self.recordsAtOnce, selection, withUnreadable: true) {
        (found, snapshot) in
        let record = outcome { () throws(CacheError) in try snapshot.record(found, values) }
        if case .failure = record { sawDamage = true }
        return (record, found.bytes.count + (found.header?.valueLength(in: found.bytes) ?? 0))
      }
      for record in records {
        switch record {
        case .success(let record): if try !body(record) { return }
        case .failure(let error):
          guard error.isOfOneEntry else { throw error }
          try onDamage(error)
        }
      }
      place = next
    } while place != nil
  }

  /// The elements that `make` makes of the records of a page, with their sizes.
  private func scan<Element>(
    _ prefix: String, after place: EntryPlace?, limit: Int, _ selection: EntrySelection, withUnreadable: Bool = false,
    _ make: (FoundRecord, borrowing EntrySnapshot) -> (Element, size: Int)?
  ) throws(CacheError) -> (elements: [Element], next: EntryPlace?) {
    try look("Listing \(self.place.path)") { (snapshot, attempt, _) throws(CacheError) in
      // The faster others write, the less is read at once.
      let limit = max(1, min(max(1, limit), 1 << 20) >> min(20, 2 * attempt))
      var (elements, bytes): ([Element], Int) = ([], 0)
      let next = try calling(activity) { () throws(LMDBError) in
        try withUTF8Bytes(of: prefix) { (prefix) throws(LMDBError) in
          try snapshot.scan(prefix, after: place, limit: limit, selection, withUnreadable: withUnreadable) { found in
            guard let (element, size) = make(found, snapshot) else { return true }
            elements.append(element)
            bytes = bytes.addingClamped(size)
            return bytes < Self.bytesAtOnce
          }
        }
      }
      return (elements, next)
    }
  }
}
