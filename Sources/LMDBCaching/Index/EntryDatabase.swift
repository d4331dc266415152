import LMDB
import Platform
import Synchronization

/// The committed entries: reads, lists and write sessions on a directory's LMDB environment.
///
/// Only this type converts LMDB errors to ``CacheError``. A corruption error takes the database out of service, because
/// LMDB may crash on the next damaged page. After an I/O error during a commit (`MDB_PANIC`) the files are reopened.
///
/// Threads: reads from any; write sessions from the writer thread, or before it is started.
// Sendable: the hooks are set once, before other threads see the object; the rest is constant or Sendable.
final class EntryDatabase: @unchecked Sendable {
  let environment: Environment
  let databaseKey: DatabaseKey
  let tracker: TransactionTracker
  let counters: DiskCounters
  let directoryName: String

  /// Restores deleted or replaced files before a transaction begins.
  var bringFilesIntoPlace: () throws(CacheError) -> Void = {}
  /// Called while no other process can write.
  var areFilesInPlace: () throws(CacheError) -> Bool = { true }
  /// Reopens files that LMDB gave up on. Writer thread.
  var reopenAfterPanic: () throws(LMDBError) -> Void = {}
  /// Asks the writer thread to call ``reopenAfterPanic``. Any thread.
  var requestReopening: @Sendable () -> Void = {}
  /// Syncs the values that the next transaction may refer to, before it begins.
  var synchronizeValues: () throws(CacheError) -> Void = {}
  /// Called before each commit, while no other process can write.
  var willCommit: () -> Void = {}
  /// Called when the device failed and writes may be lost. Any thread.
  var didFailDevice: @Sendable () -> Void = {}
  /// Called once when the database goes out of service. Any thread.
  var didFindDamage: @Sendable (CacheError) -> Void = { _ in }

  /// Whether the file is damaged and no longer used.
  let isOutOfService = Atomic<Bool>(false)

  let tagKnowledge = Mutex(TagKnowledge())

  private static let maximumReopenings = 8
  private static let maximumAttempts = 8

  init(_ environment: Environment, _ databaseKey: DatabaseKey, directoryName: String, counters: DiskCounters) {
    self.environment = environment
    self.databaseKey = databaseKey
    self.directoryName = directoryName
    self.counters = counters
    tracker = TransactionTracker(lastTransactionID: environment.lastPosition())
  }

  // MARK: Positions

  /// The position of another process's newest transaction. Still readable after closing.
  @inline(__always)
  var foreignPosition: UInt64 { tracker.foreignPosition(lastTransactionID: environment.lastPosition()) }

  /// The oldest position at which a memory entry is still valid.
  @inline(__always)
  var requiredPosition: UInt64 { tracker.requiredPosition(lastTransactionID: environment.lastPosition()) }

  // MARK: Errors

  /// Runs LMDB operations; the error names `activity`. A corruption error takes the database out of service.
  @inline(__always)
  func accessing<R: ~Copyable, E: Error>(
    _ activity: @autoclosure () -> String, _ body: () throws(E) -> R
  ) throws(CacheError) -> R {
    do throws(E) { return try body() } catch { throw failure(error, during: activity()) }
  }

  /// Calls `body` with a read transaction.
  @inline(__always)
  func reading<R>(
    _ activity: @autoclosure () -> String, _ body: (borrowing ReadTransaction) throws(LMDBError) -> R
  ) throws(CacheError) -> R {
    try accessing(activity()) { try environment.withReadTransaction(body) }
  }

  @inline(never)
  func failure(_ error: any Error, during activity: String) -> CacheError {
    let failure = CacheError(converting: error, during: activity)
    switch (error as? LMDBError)?.code {
    case .corrupted: takeOutOfService(failure)
    case .panic:
      didFailDevice()
      requestReopening()
    case .ioError: didFailDevice()
    default: break
    }
    return failure
  }

  private func takeOutOfService(_ error: CacheError) {
    if isOutOfService.exchange(true, ordering: .acquiringAndReleasing) { return }
    environment.breakOff()
    didFindDamage(error)
  }

  // MARK: Writing

  /// Runs and commits a whole write transaction on the files that are at their paths now.
  ///
  /// - Parameters:
  ///   - makeRoom: Called when the map is full; returns whether to retry.
  ///   - body: May run several times. An error aborts the transaction.
  func transact<R>(
    _ activity: @autoclosure () -> String, makingRoom makeRoom: () -> Bool = { false },
    _ body: (inout WriteSession) throws(LMDBError) -> R
  ) throws(CacheError) -> R {
    try transactIfNeeded(activity(), makingRoom: makeRoom) { (session) throws(LMDBError) in
      (try body(&session), isCommitted: true)
    }
  }

  /// Runs a write transaction that `body` decides to commit or abort.
  func transactIfNeeded<R>(
    _ activity: @autoclosure () -> String, makingRoom makeRoom: () -> Bool = { false },
    _ body: (inout WriteSession) throws(LMDBError) -> (R, isCommitted: Bool)
  ) throws(CacheError) -> R {
    try synchronizeValues()
    var attempt = 1
    while true {
      do {
        var session = try beginSession(activity())
        let (result, isCommitted) = try body(&session)
        guard isCommitted else {
          session.abort()
          return result
        }
        willCommit()
        try session.commit(tracker)
        counters.commits.increment()
        return result
      } catch {
        guard (error as? LMDBError)?.code == .mapFull, attempt < Self.maximumAttempts, makeRoom() else {
          throw failure(error, during: activity())
        }
        attempt += 1
      }
    }
  }

  /// Runs `body` in a write transaction that is then aborted, to keep other writers out.
  func withoutWriters<R>(
    _ activity: @autoclosure () -> String, _ body: (borrowing WriteSession) throws(LMDBError) -> R
  ) throws(CacheError) -> R {
    try accessing(activity()) {
      let session = try beginSession(activity())
      let result = try body(session)
      session.abort()
      return result
    }
  }

  private func beginSession(_ activity: String) throws -> WriteSession {
    for _ in 0..<Self.maximumReopenings {
      try bringFilesIntoPlace()
      let session: WriteSession
      do throws(LMDBError) {
        session = try WriteSession(environment, databaseKey)
      } catch {
        guard error.code == .panic else { throw error }
        try reopenAfterPanic()
        continue
      }
      // With writers excluded, files in place now stay in place for every process's next transaction.
      if try areFilesInPlace() { return session }
      session.abort()
    }
    throw CacheError(
      .storageFailed, "\(activity) failed: the files are deleted or replaced again and again. Stop what does it.")
  }

  /// Bytes of the pages in use.
  func usedBytes() throws(CacheError) -> Int {
    try accessing("Measuring \(directoryName)") { try environment.info().main.usedBytes }
  }

  func synchronize() throws(CacheError) {
    try accessing("Synchronizing \(directoryName)") { try environment.sync(force: true) }
  }

  /// Frees dead processes' slots in the reader table; returns their number.
  @discardableResult
  func checkReaders() throws(CacheError) -> Int {
    try accessing("Looking for dead readers of \(directoryName)") { try environment.checkReaders() }
  }
}

/// The transactions in which entries and the cache's own records are read.
protocol EntryTransaction: ~Copyable {
  func withValue<R: ~Copyable>(
    forKey key: UnsafeRawBufferPointer, in database: Database, _ body: (UnsafeRawBufferPointer) throws(LMDBError) -> R
  ) throws(LMDBError) -> R?

  func withCursor<R: ~Copyable>(
    in database: Database, _ body: (borrowing Cursor) throws(LMDBError) -> R
  ) throws(LMDBError) -> R
}

extension ReadTransaction: EntryTransaction {}
extension WriteTransaction: EntryTransaction {}

extension EntryTransaction where Self: ~Copyable {
  func value<R>(_ key: [UInt8], _ read: (ByteView) -> R) throws(LMDBError) -> R? {
    try key.withBytes { (key) throws(LMDBError) in try withValue(forKey: key) { read($0) } }
  }

  /// Visits the records whose keys start with `prefix`.
  func forEach(withPrefix prefix: [UInt8], _ body: (Cursor.Entry) -> Void) throws(LMDBError) {
    try prefix.withBytes { (prefix) throws(LMDBError) in
      try withCursor(in: .main) { (cursor) throws(LMDBError) in
        var position = try cursor.seek(toKeyAtOrAfter: prefix)
        while let entry = position, entry.keyBytes.hasPrefix(prefix) {
          body(entry)
          position = try cursor.next()
        }
      }
    }
  }
}

extension WriteTransaction {
  func put(_ value: [UInt8], _ key: [UInt8]) throws(LMDBError) {
    try key.withBytes { (key) throws(LMDBError) in
      try value.withBytes { (value) throws(LMDBError) in try put(value, forKey: key) }
    }
  }

  func remove(_ key: [UInt8]) throws(LMDBError) {
    _ = try key.withBytes { (key) throws(LMDBError) in try remove(forKey: key) }
  }
}

extension EntryDatabase {
  /// The committed counts and costs.
  func metadata() throws(CacheError) -> CacheMetadata {
    try reading("Reading the counts of \(directoryName)") { (txn) throws(LMDBError) in try Self.metadata(txn) }
  }

  static func metadata(_ txn: borrowing some EntryTransaction & ~Copyable) throws(LMDBError) -> CacheMetadata {
    guard case .metadata(let metadata)? = try readMetadata(txn) else {
      throw LMDBError(
        code: .corrupted, operation: "EntryDatabase.metadata", message: "The cache's own record is gone or damaged.")
    }
    return metadata
  }

  /// Returns `nil` if the record is missing: a new database, or another kind.
  static func readMetadata(_ txn: borrowing some EntryTransaction & ~Copyable) throws(LMDBError) -> CacheMetadata
    .Reading?
  {
    try txn.value(CacheMetadata.key) { CacheMetadata.read($0) }
  }

  static func write(_ metadata: CacheMetadata, _ txn: borrowing WriteTransaction) throws(LMDBError) {
    try txn.put(metadata.stored, CacheMetadata.key)
  }

  func removalMarks() throws(CacheError) -> RemovalMarks {
    try reading("Reading what was removed from \(directoryName)") { (txn) throws(LMDBError) in
      RemovalMarks(
        clear: try Self.metadata(txn).clearStamp, tag: try Self.tagStatus(txn),
        prefixes: try txn.value(PrefixRemovals.key) { PrefixRemovals($0) } ?? PrefixRemovals())
    }
  }

  struct ValueUsage {
    /// Omits unreferenced segments.
    var segments: [UInt64: SegmentUsage] = [:]
    /// LMDB's number for the snapshot's transaction.
    var transactionID: UInt64 = 0

    var bytes: Int { segments.values.reduce(0) { $0.addingClamped($1.bytes) } }
  }

  func valueUsage() throws(CacheError) -> ValueUsage {
    try reading("Reading what is in use of the values in \(directoryName)") { (txn) throws(LMDBError) in
      try Self.valueUsage(txn)
    }
  }

  static func valueUsage(_ txn: borrowing ReadTransaction) throws(LMDBError) -> ValueUsage {
    var usage = ValueUsage(transactionID: txn.id)
    try txn.forEach(withPrefix: SegmentUsage.keyPrefix) { entry in
      if let segment = SegmentUsage.segment(ofKey: entry.keyBytes) {
        usage.segments[segment] = SegmentUsage(entry.valueBytes)
      }
    }
    return usage
  }

  /// The stamp up to which a journal is in the database.
  static func committedStamp(ofJournal journal: UInt64, _ txn: borrowing ReadTransaction) throws(LMDBError) -> UInt64 {
    try txn.value(WriteSession.committedStampKey(journal)) {
      $0.count == 8 ? $0.load(as: UInt64.self) : 0
    } ?? 0
  }

  /// The pairs whose committed record still refers to the pointer.
  func referring(
    _ values: [(key: [UInt8], pointer: ValuePointer)]
  ) throws(CacheError) -> [(key: [UInt8], pointer: ValuePointer)] {
    try reading("Looking for values of \(directoryName)") { (txn) throws(LMDBError) in
      var found: [(key: [UInt8], pointer: ValuePointer)] = []
      for value in values {
        let pointer = try txn.value(value.key) { ValuePointer(in: $0, RecordHeader($0)) } ?? nil
        if pointer == value.pointer { found.append(value) }
      }
      return found
    }
  }

  /// Whether every open snapshot, in any process, includes the transaction.
  func allReadersSee(_ transactionID: UInt64) throws(CacheError) -> Bool {
    try accessing("Looking for readers of \(directoryName)") {
      try environment.readers().allSatisfy { $0.transactionID >= transactionID }
    }
  }
}

/// Distinguishes this process's commits from those of others, so that one comparison tells a memory hit whether another
/// process may have replaced its entry.
///
/// An entry validated at ``foreignPosition``, the newest transaction known to be another process's, or later is
/// current. Ids are positions (``Environment/position(of:)``), which keep increasing when files are replaced, so
/// nothing read from the old files seems current.
final class TransactionTracker: Sendable {
  /// The last id when this process began; everything it reads is at least this current.
  let first: UInt64
  /// Every id up to this one has been classified.
  private let known: Atomic<UInt64>
  private let foreign: Atomic<UInt64>
  /// `foreign`, or `.max` during a removal of many entries.
  private let required: Atomic<UInt64>
  private let removals = Mutex(0)

  init(lastTransactionID: UInt64) {
    first = lastTransactionID
    known = Atomic(lastTransactionID)
    foreign = Atomic(lastTransactionID)
    required = Atomic(lastTransactionID)
  }

  /// The newest transaction id of another process, given the environment's last id.
  @inline(__always)
  func foreignPosition(lastTransactionID: UInt64) -> UInt64 {
    if lastTransactionID > known.load(ordering: .acquiring) { noteForeign(lastTransactionID) }
    return foreign.load(ordering: .relaxed)
  }

  /// The position at which an entry must be validated to be served from memory, or `.max` if the disk must be read.
  @inline(__always)
  func requiredPosition(lastTransactionID: UInt64) -> UInt64 {
    if lastTransactionID > known.load(ordering: .acquiring) { noteForeign(lastTransactionID) }
    return required.load(ordering: .acquiring)
  }

  @inline(never)
  private func noteForeign(_ id: UInt64) {
    removals.withLock { removals in
      guard id > known.load(ordering: .relaxed) else { return }
      setForeign(id, removals)
      known.store(id, ordering: .releasing)
    }
  }

  private func setForeign(_ id: UInt64, _ removals: Int) {
    foreign.store(id, ordering: .relaxed)
    required.store(removals == 0 ? id : .max, ordering: .releasing)
  }

  /// Makes every read go to the disk until the matching ``endRemoval()``. Memory tiers drop entries one by one, and
  /// once one reader misses an entry no other may find it.
  func beginRemoval() {
    removals.withLock { removals in
      removals += 1
      required.store(.max, ordering: .releasing)
    }
  }

  func endRemoval() {
    removals.withLock { removals in
      removals -= 1
      setForeign(foreign.load(ordering: .relaxed), removals)
    }
  }

  /// Announces the id of this process's write transaction before its commit. LMDB assigns ids under its writer mutex,
  /// so no other process can commit under this one.
  func willCommit(_ id: UInt64) {
    removals.withLock { removals in
      let last = id &- 1
      if last > known.load(ordering: .relaxed) { setForeign(last, removals) }
      known.store(max(id, known.load(ordering: .relaxed)), ordering: .releasing)
    }
  }

  /// Withdraws an announcement: the commit failed, and another process may use the id.
  func didNotCommit(_ id: UInt64) {
    removals.withLock { _ in
      if known.load(ordering: .relaxed) == id { known.store(id &- 1, ordering: .releasing) }
    }
  }

  /// Invalidates every memory entry: this process committed other processes' writes.
  func invalidate() {
    removals.withLock { removals in setForeign(known.load(ordering: .relaxed), removals) }
  }
}
