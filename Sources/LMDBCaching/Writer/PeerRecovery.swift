import LMDB
import Logging
import Platform
import Synchronization

/// Recovers from dead processes: replays their journals, and frees their slots in the reader table, which keep pages
/// from being reused. Writer thread, or before it starts.
// Sendable: only the writer thread, or opening before it, uses the variables; the hooks are set once.
final class PeerRecovery: @unchecked Sendable {
  private let directory: CurrentDirectory
  private let database: EntryDatabase
  private let journal: Journal
  private let values: ValueReader
  private let durability: Durability
  private let events: EventLog
  /// Nanoseconds to wait for another process that replays journals.
  private let lockTimeout: Int64

  /// Makes room in a full map; returns whether to retry.
  var makeRoom: () -> Bool = { false }
  /// Called after a removal by tag was replayed, whose entries upkeep deletes.
  var didRemoveByTag: () -> Void = {}
  /// Called when journals are replayed that could not be replayed at the opening.
  var didReplayAll: () -> Void = {}

  /// Why a dead process's journal could not be replayed.
  private(set) var failure: CacheError?
  /// What was logged of each journal, so that each failure is logged once.
  private var logged: [UInt64: CacheError.Code] = [:]

  init(
    _ directory: CurrentDirectory, _ database: EntryDatabase, _ journal: Journal, _ values: ValueReader,
    durability: Durability, lockTimeout: Int64, events: EventLog
  ) {
    self.directory = directory
    self.database = database
    self.journal = journal
    self.values = values
    self.durability = durability
    self.lockTimeout = lockTimeout
    self.events = events
  }

  /// Recovers before the first read. Waits for another process that is recovering. Readers see the writes of a journal
  /// that cannot be replayed now (on a full disk, for example) until it is, which is before the next commit.
  ///
  /// - Throws: `.lockTimeout` if another process does not finish; errors of looking for journals.
  func takeOverAtOpening(timeout: Int64) throws(CacheError) {
    try applyJournals(timeout: timeout, isOpening: true)
    checkReaders()
  }

  /// Recovers while the cache is open. The next commit retries after a failure.
  func takeOver() {
    let error = events.logFailure(.error, "cache journals not scanned", in: database.directoryName) {
      () throws(CacheError) in try applyJournals(timeout: 0)
    }
    if let error { failure = error }
    checkReaders()
  }

  /// Replays journals before a commit, whose effect their older writes could otherwise undo.
  ///
  /// - Parameter leavingNothing: Whether the commit removes entries without a trace, so that dead processes' older
  ///   writes must go first.
  func applyBeforeCommit(leavingNothing: Bool) throws(CacheError) {
    guard failure != nil || leavingNothing else { return }
    do throws(CacheError) { try applyJournals(timeout: leavingNothing ? lockTimeout : 0) } catch {
      failure = error
      throw error
    }
    if let failure { throw failure }
  }

  private var folder: JournalFolder { JournalFolder(cache: directory.value) }

  private func checkReaders() {
    events.logFailure(.warning, "cache readers not checked", in: database.directoryName) { () throws(CacheError) in
      try database.checkReaders()
    }
  }

  // MARK: Journals

  private func applyJournals(timeout: Int64, isOpening: Bool = false) throws(CacheError) {
    let activity = "Applying the journals of processes that ended, in \(database.directoryName)"
    let own = journal.identifier
    let found = try calling(activity) { () throws(SystemError) in try folder.identifiers().filter { $0 != own } }
    logged = logged.filter { found.contains($0.key) }
    guard !found.isEmpty else { return noteAllReplayed() }
    // One process at a time: a locked journal then means that its owner lives, not that it is being replayed.
    guard let turn = try calling(activity, { () throws(SystemError) in try folder.takeReplayLock(timeout: timeout) })
    else {
      // While the cache is open, the next round checks again.
      if timeout == 0 { return }
      throw .lockTimeout(
        database.directoryName, try calling(activity) { () throws(SystemError) in try folder.holderOfReplayLock() })
    }
    failure = nil
    var unreplayed: [JournalImage] = []
    for identifier in found {
      guard let orphan = try calling(activity, { () throws(SystemError) in try folder.orphan(identifier) }) else {
        continue
      }
      do throws(CacheError) {
        try apply(orphan)
      } catch {
        // The journal stays for the next round.
        if isOpening { unreplayed.append(orphan.image) }
        // The next commit reports a lock timeout once.
        if error.code != .lockTimeout, logged.updateValue(error.code, forKey: identifier) != error.code {
          events.log(
            .error, "cache journal not applied",
            ["directory": "\(database.directoryName)", "journal": "\(orphan.name)", "error": "\(error)"])
        }
        failure = error
        continue
      }
      if orphan.image.isDamaged {
        events.log(
          .error, "cache journal of a process that ended is damaged, and set aside; writes may be lost",
          ["directory": "\(database.directoryName)", "journal": "\(orphan.name)"])
      }
      // Its writes are in the database, so that commits go on; the next round tries again.
      do throws(SystemError) { try orphan.remove() } catch {
        if logged.updateValue(.storageFailed, forKey: identifier) != .storageFailed {
          events.log(
            .error, "cache journal not removed",
            ["directory": "\(database.directoryName)", "journal": "\(JournalName.of(identifier))", "error": "\(error)"])
        }
      }
    }
    if failure == nil {
      noteAllReplayed()
    } else if !unreplayed.isEmpty {
      try show(unreplayed)
    }
    turn.end()
  }

  private func noteAllReplayed() {
    failure = nil
    guard journal.forgetUnreplayed() else { return }
    database.tracker.invalidate()
    didReplayAll()
  }

  /// Replays uncommitted writes. Never puts an older write over a newer one, or restores writes from before a
  /// `removeAll`.
  ///
  /// The journal's committed stamp stays until its file is durably gone (``sweepCommittedStamps()``). If this process
  /// dies first, or a power cut undoes the removal, a second replay would restore values that were removed since.
  @discardableResult
  func apply(_ orphan: borrowing OrphanedJournal) throws(CacheError) -> Int {
    let activity = "Applying the journal \(orphan.name) of a process that ended"
    let image = orphan.image
    guard let last = image.lastStamp else {
      // If the process was killed at the end of its last commit, readers may not see it until LMDB's next write
      // transaction, so make one now.
      try database.withoutWriters(activity) { _ in }
      return 0
    }
    // Only the replay lock's holder changes it.
    let committed = try database.withoutWriters(activity) { (session) throws(LMDBError) in
      try session.committedStamp(ofJournal: image.identifier)
    }
    guard committed < last else { return 0 }
    let pending = try calling(activity) { () throws(SystemError) in
      let pending = try pendingWrites([image], committed: [image.identifier: committed])
      if durability != .fast { try values.synchronize(pending.segments) }
      return pending
    }
    var lastStamp: UInt64 = 0
    try database.transact(activity, makingRoom: makeRoom) { (session) throws(LMDBError) in
      try session.apply(pending)
      try session.setCommittedStamp(last, ofJournal: image.identifier)
      lastStamp = session.metadata.lastStamp
    }
    // Memory entries must be revalidated, and new stamps must be greater.
    database.tracker.invalidate()
    if !pending.tags.isEmpty { didRemoveByTag() }
    journal.lock.withLock { journal.state.stamps.advance(to: lastStamp) }
    database.counters.replayedWrites.increment(by: pending.count)
    // The journal is removed next, so a power cut must not undo the commit.
    if durability == .ordered { try database.synchronize() }
    events.log(
      .debug, "cache journal of a process that ended without closing it applied",
      ["directory": "\(database.directoryName)", "writes": "\(pending.count)"])
    return pending.count
  }

  private func pendingWrites(
    _ images: [JournalImage], committed: [UInt64: UInt64]
  ) throws(SystemError) -> PendingWrites {
    try PendingWrites(images, database.databaseKey, committed: committed) { (pointer, _) throws(SystemError) in
      try ifReadable { () throws(SystemError) in try values.isIntact(pointer) } == true
    }
  }

  /// Shows readers the writes of journals that cannot be applied now, where they are newer than the database.
  private func show(_ images: [JournalImage]) throws(CacheError) {
    let activity = "Reading the journals of processes that ended, in \(database.directoryName)"
    let committed = try database.reading(activity) { (txn) throws(LMDBError) in
      var stamps: [UInt64: UInt64] = [:]
      for image in images {
        stamps[image.identifier] = try WriteSession.committedStampKey(image.identifier).withBytes {
          (key) throws(LMDBError) in
          try txn.withValue(forKey: key) { $0.count == 8 ? $0.load(as: UInt64.self) : 0 }
        }
      }
      return stamps
    }
    let pending = try calling(activity) { () throws(SystemError) in try pendingWrites(images, committed: committed) }
    let batch = BatchFrames(isAwaited: false)
    var stamps: [UInt64] = []
    func remove(_ key: ByteView, _ stamp: UInt64) {
      CacheKey.with(String(utf8: key)) { batch.remove($0) }
      stamps.append(stamp)
    }
    try database.reading(activity) { (txn) throws(LMDBError) in
      let cleared = try EntryDatabase.metadata(txn).clearStamp
      if pending.removesMany {
        var survives = false
        _ = try database.visitPage(withPrefix: "", after: nil, length: .max, at: .min, txn) { found, header in
          if !pending.removes(header, under: found.key, clearedAt: cleared) { survives = true }
        }
        if survives {
          _ = try database.visitPage(withPrefix: "", after: nil, length: .max, at: .min, txn) { found, header in
            if pending.removes(header, under: found.key, clearedAt: cleared) { remove(found.key, pending.lastStamp) }
          }
        } else {
          batch.removeAll(withPrefix: nil)
          stamps.append(pending.lastStamp)
        }
      }
      for entry in pending.entries {
        let replaces = try txn.withValue(forKey: entry.databaseKey) {
          pending.replaces(RecordHeader($0), by: entry, clearedAt: cleared)
        }
        let frame = entry.frame
        guard replaces ?? pending.replaces(nil, by: entry, clearedAt: cleared) else { continue }
        guard !entry.isRemoval, let header = RecordHeader(frame.record),
          !pending.removes(header, under: frame.key, clearedAt: cleared)
        else {
          remove(frame.key, entry.stamp)
          continue
        }
        CacheKey.with(String(utf8: frame.key)) { batch.put($0, header, header.payload(of: frame.record)) }
        stamps.append(entry.stamp)
      }
    }
    let segment = JournalSegment(of: batch)
    var next = stamps.makeIterator()
    segment.append(batch) { _ in next.next() ?? 0 }
    journal.show(unreplayed: segment, lastStamp: pending.lastStamp)
  }

  // MARK: Committed stamps of journals that are gone

  /// Removes the committed stamps of removed journals. Writer thread, periodically.
  func sweepCommittedStamps() throws(CacheError) {
    let activity = "Removing marks of old journals in \(database.directoryName)"
    let known = try database.withoutWriters(activity) { (session) throws(LMDBError) in
      try session.journalsWithCommittedStamp()
    }
    let gone = try calling(activity) { () throws(SystemError) in
      // First, because a journal whose removal a power cut undoes would restore removed values without its stamp.
      // The journal of this process may have no file yet.
      let present = Set(try folder.identifiers() + [journal.identifier])
      let gone = known.filter { !present.contains($0) }
      if !gone.isEmpty { try folder.synchronize() }
      return gone
    }
    if gone.isEmpty { return }
    try database.transact(activity) { (session) throws(LMDBError) in
      for journal in gone { try session.removeCommittedStamp(ofJournal: journal) }
    }
  }
}
