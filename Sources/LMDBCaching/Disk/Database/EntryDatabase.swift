import LMDB
import Synchronization

/// The entries that are committed: reads, lists and write sessions on the LMDB environment of a directory.
///
/// This is the only place where an LMDB error becomes a ``CacheError``. A corruption error takes the database out of
/// service: LMDB may crash on the next page it looks at, so it looks at none any more. After an I/O error in the middle of
/// a commit (`MDB_PANIC`) the files are opened again.
///
/// Threads: reads from any; write sessions from the writer thread, or before it is started.
// Sendable: the hooks are set once, before anybody else knows the object; the rest is constant or Sendable.
final class EntryDatabase: @unchecked Sendable {
  let environment: Environment
  let databaseKey: DatabaseKey
  let tracker: TransactionTracker
  let counters: DiskCounters
  /// The directory's path, for messages.
  let directoryName: String

  /// Brings the files into their places, if somebody deleted or replaced them, before a transaction begins.
  var bringFilesIntoPlace: () throws(CacheError) -> Void = {}
  /// Whether they are there; asked when nobody else can write.
  var areFilesInPlace: () throws(CacheError) -> Bool = { true }
  /// Opens the files again that LMDB gave up on. On the writer thread.
  var reopenAfterPanic: () throws(LMDBError) -> Void = {}
  /// Asks the writer thread for the same, soon. Any thread.
  var requestReopening: @Sendable () -> Void = {}
  /// Makes durable what the next transaction may refer to, before it begins.
  var synchronizeValues: () throws(CacheError) -> Void = {}
  /// Told before each commit, when nobody else writes.
  var willCommit: () -> Void = {}
  /// Told that the device failed: what was written may be lost. Any thread.
  var didFailDevice: @Sendable () -> Void = {}
  /// Told once that the database is out of service. Any thread.
  var didFindDamage: @Sendable (CacheError) -> Void = { _ in }

  /// Whether the file is damaged, and is not used any more.
  let isOutOfService = Atomic<Bool>(false)

  let tagKnowledge = Mutex(TagKnowledge())

  /// How often a transaction is begun anew when the files change under it.
  private static let maximumReopenings = 8
  /// How often a transaction is tried again after room was made for it.
  private static let maximumAttempts = 8

  init(
    _ environment: Environment, _ databaseKey: DatabaseKey, directoryName: String, position: UInt64,
    counters: DiskCounters
  ) {
    self.environment = environment
    self.databaseKey = databaseKey
    self.directoryName = directoryName
    self.counters = counters
    tracker = TransactionTracker(lastTransactionID: position)
  }

  // MARK: Positions

  /// The position of the newest transaction of another process. It can still be read when the database is closed.
  @inline(__always)
  var foreignPosition: UInt64 { tracker.foreignPosition(lastTransactionID: environment.lastPosition()) }

  /// As of which position an entry in memory has to be current.
  @inline(__always)
  var requiredPosition: UInt64 { tracker.requiredPosition(lastTransactionID: environment.lastPosition()) }

  // MARK: Errors

  /// Runs LMDB operations; the activity is named in the error. Corruption errors take the database out of service.
  @inline(__always)
  func accessing<R: ~Copyable>(
    _ activity: @autoclosure () -> String, _ body: () throws(LMDBError) -> R
  ) throws(CacheError) -> R {
    do throws(LMDBError) { return try body() } catch { throw failure(error, during: activity()) }
  }

  @inline(never)
  func failure(_ error: LMDBError, during activity: String) -> CacheError {
    let failure = CacheError(error, during: activity)
    switch error.code {
    case .corrupted, .pageNotFound: takeOutOfService(failure)
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

  /// Runs a whole write transaction, on the files that are at their paths now, and commits it.
  ///
  /// - Parameters:
  ///   - makeRoom: Called when the map is full; returns whether the transaction is worth another try.
  ///   - body: May run several times. What it throws aborts the transaction.
  func transact<R>(
    _ activity: @autoclosure () -> String, makingRoom makeRoom: () -> Bool = { false },
    _ body: (inout WriteSession) throws(LMDBError) -> R
  ) throws(CacheError) -> R {
    try transactIfNeeded(activity(), makingRoom: makeRoom) { (session) throws(LMDBError) in
      (try body(&session), isCommitted: true)
    }
  }

  /// The same, but `body` decides whether the transaction is committed or aborted.
  func transactIfNeeded<R>(
    _ activity: @autoclosure () -> String, makingRoom makeRoom: () -> Bool = { false },
    _ body: (inout WriteSession) throws(LMDBError) -> (R, isCommitted: Bool)
  ) throws(CacheError) -> R {
    try synchronizeValues()
    var attempt = 1
    while true {
      do throws(LMDBError) {
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
        guard error.code == .mapFull, attempt < Self.maximumAttempts, makeRoom() else {
          throw failure(error, during: activity())
        }
        attempt += 1
      }
    }
  }

  /// Runs `body` in a write transaction that is then aborted: nobody else writes meanwhile.
  func withoutWriters<R>(
    _ activity: @autoclosure () -> String, _ body: (borrowing WriteSession) throws(LMDBError) -> R
  ) throws(CacheError) -> R {
    try accessing(activity()) { () throws(LMDBError) in
      let session = try beginSession(activity())
      let result = try body(session)
      session.abort()
      return result
    }
  }

  private func beginSession(_ activity: String) throws(LMDBError) -> WriteSession {
    for _ in 0..<Self.maximumReopenings {
      do throws(CacheError) {
        try bringFilesIntoPlace()
      } catch {
        throw LMDBError(reopening: error)
      }
      let session: WriteSession
      do throws(LMDBError) {
        session = try WriteSession(environment, databaseKey)
      } catch {
        guard error.code == .panic else { throw error }
        try reopenAfterPanic()
        continue
      }
      // Now that nobody else writes: what is found in place stays in its place for everybody else's next transaction.
      let isInPlace: Bool
      do throws(CacheError) {
        isInPlace = try areFilesInPlace()
      } catch {
        throw LMDBError(reopening: error)
      }
      if isInPlace { return session }
      session.abort()
    }
    throw LMDBError(
      code: .fileReplaced, operation: "EntryDatabase.beginSession",
      message: "The files of \(directoryName) are deleted or replaced again and again. Stop what does it.")
  }

  /// Waits until everything committed is on the disk.
  func synchronize() throws(CacheError) {
    try accessing("Synchronizing \(directoryName)") { () throws(LMDBError) in try environment.sync(force: true) }
  }

  /// Frees the places of dead processes in the reader table; returns how many there were.
  @discardableResult
  func checkReaders() throws(CacheError) -> Int {
    try accessing("Looking for dead readers of \(directoryName)") { () throws(LMDBError) in
      try environment.checkReaders()
    }
  }
}

extension LMDBError {
  /// A transaction that could not be begun, since its files could not be opened anew.
  fileprivate init(reopening error: CacheError) {
    if let underlying = error.underlying as? LMDBError {
      self = underlying
      message = error.message
      return
    }
    let code: Code =
      switch error.code {
      case .lockTimeout: .lockTimeout
      case .noSpace: .noSpace
      case .permissionDenied: .permissionDenied
      case .readOnlyFileSystem: .readOnlyFileSystem
      case .closed: .closed
      default: .fileReplaced
      }
    self.init(code: code, operation: "EntryDatabase.beginSession", message: error.message)
  }
}
