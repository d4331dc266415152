import LMDB
import Logging
import Platform
import Synchronization

/// Brings in what processes that died left: their journals, and their places in the reader table, which keep pages from
/// being used again. On the writer thread, or before it is started.
// Sendable: `failure` belongs to the writer thread, or to opening before that; the hooks are set once.
final class PeerRecovery: @unchecked Sendable {
  private let directory: CurrentDirectory
  private let database: EntryDatabase
  private let journal: Journal
  private let values: ValueReader
  private let durability: Durability
  private let events: EventLog
  /// Nanoseconds to wait for another process that applies journals.
  private let lockTimeout: Int64

  /// Makes room in a map that is full; returns whether it is worth another try.
  var makeRoom: () -> Bool = { false }

  /// Why a dead process's journal could not be applied.
  private(set) var failure: CacheError?

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

  /// Takes over before anybody has read anything: waits until another process that is at it has finished, and hides what
  /// is on the disk under the keys of a journal that cannot be applied now, since the disk is full, say. It is older than
  /// what was acknowledged.
  ///
  /// - Throws: `.lockTimeout` if another process does not finish, and what looking for journals throws: what is in them
  ///   would be missing.
  func takeOverAtOpening(timeout: Int64) throws(CacheError) {
    try applyJournals(timeout: timeout, hidesOlder: true)
    checkReaders()
  }

  /// The same while the cache is open. A failure is kept for the next commit, which tries it again.
  func takeOver() {
    let error = events.logFailure(.error, "cache journals not scanned", in: database.directoryName) {
      () throws(CacheError) in try applyJournals(timeout: 0, hidesOlder: false)
    }
    if let error { failure = error }
    checkReaders()
  }

  /// Before a commit: what it replaces may be newer than what a dead process wrote.
  ///
  /// - Parameter leavingNothing: The commit removes something, and leaves nothing that an older write could be held against.
  ///   So whoever has died by now goes first.
  func applyBeforeCommit(leavingNothing: Bool) throws(CacheError) {
    guard failure != nil || leavingNothing else { return }
    try applyJournals(timeout: leavingNothing ? lockTimeout : 0, hidesOlder: false)
    if let failure { throw failure }
  }

  private var folder: JournalFolder { JournalFolder(cache: directory.value) }

  private func checkReaders() {
    events.logFailure(.warning, "cache readers not checked", in: database.directoryName) { () throws(CacheError) in
      try database.checkReaders()
    }
  }

  // MARK: Journals

  private func applyJournals(timeout: Int64, hidesOlder: Bool) throws(CacheError) {
    let activity = "Applying the journals of processes that ended, in \(database.directoryName)"
    let own = journal.identifier
    let found = try calling(activity) { () throws(SystemError) in try folder.identifiers().filter { $0 != own } }
    guard !found.isEmpty else { return failure = nil }
    // One process at a time: a journal whose lock cannot be had is then one whose owner lives, and not one that another
    // process is about to bring in.
    guard let turn = try calling(activity, { () throws(SystemError) in try folder.takeReplayLock(timeout: timeout) })
    else {
      // While the cache is open, the next round sees what became of it.
      if timeout == 0 { return }
      throw .lockTimeout(
        database.directoryName, try calling(activity) { () throws(SystemError) in try folder.holderOfReplayLock() })
    }
    let former = failure
    failure = nil
    for identifier in found {
      guard let orphan = try calling(activity, { () throws(SystemError) in try folder.orphan(identifier) }) else {
        continue
      }
      do throws(CacheError) {
        try apply(orphan)
      } catch {
        // It stays for the next round.
        if hidesOlder { try hideWhatIsOlder(than: orphan) }
        // The next commit tells, once, that somebody holds the lock.
        if error.code != .lockTimeout, error.code != former?.code {
          events.log(
            .error, "cache journal not applied",
            ["directory": "\(database.directoryName)", "journal": "\(orphan.name)", "error": "\(error)"])
        }
        failure = error
        continue
      }
      if orphan.isDamaged {
        events.log(
          .error, "cache journal of a process that ended is damaged, and set aside; writes may be lost",
          ["directory": "\(database.directoryName)", "journal": "\(orphan.name)"])
      }
      do throws(SystemError) { try orphan.remove() } catch { throw CacheError(error, during: activity) }
    }
    turn.end()
  }

  /// Applies what is not in the database yet. Never puts an older write over a newer one, and nothing from before a
  /// `removeAll`.
  ///
  /// The journal's committed stamp stays in the database until the file is gone for good: see ``sweepCommittedStamps()``.
  /// If this process dies in between, or a power cut undoes the removal, the journal must not be applied once more: a
  /// value that was removed since would come back.
  @discardableResult
  func apply(_ orphan: borrowing OrphanedJournal) throws(CacheError) -> Int {
    let activity = "Applying the journal \(orphan.name) of a process that ended"
    guard let last = orphan.runs.last?.frames.last else {
      // What it committed last may be in the file, and not be read: of a commit LMDB tells readers at the end, and if the
      // process was killed just before, the next one that writes does. That is not to be some time later.
      try database.withoutWriters(activity) { _ in }
      return 0
    }
    let (identifier, runs, isOfThisRun) = (orphan.identifier, orphan.runs, orphan.isOfThisRun)
    var count = 0
    var lastStamp: UInt64 = 0
    // Only who has the turn changes it.
    let committed = try database.withoutWriters(activity) { (session) throws(LMDBError) in
      try session.committedStamp(ofJournal: identifier)
    }
    guard committed < last.stamp else { return 0 }
    var frames = JournalRun.frames(of: runs, after: committed)
    let missing = try calling(activity) { () throws(SystemError) in
      try framesWithoutValue(frames, stopsAtFirst: !isOfThisRun)
    }
    // What has lost a value otherwise than by a power cut goes on without it.
    if let first = missing.min(), !isOfThisRun { Self.cutOff(&frames, at: first) }
    if durability != .fast {
      let segments = Set(frames.indices.filter { !missing.contains($0) }.compactMap { frames[$0].pointer?.segment })
      try calling(activity) { () throws(SystemError) in try values.synchronize(segments) }
    }
    try database.transact(activity, makingRoom: makeRoom) { (session) throws(LMDBError) in
      count = 0
      for (index, frame) in frames.enumerated() {
        try session.apply(frame, isValueMissing: missing.contains(index))
        count += 1
      }
      try session.setCommittedStamp(last.stamp, ofJournal: identifier)
      lastStamp = session.metadata.lastStamp
    }
    // These writes came from elsewhere: memory tiers have to look at their entries again, and new stamps are greater.
    database.tracker.invalidate()
    journal.lock.withLock { journal.state.stamps.advance(to: lastStamp) }
    database.counters.replayedWrites.increment(by: count)
    // The journal is removed now. A power cut must not undo the commit and leave neither.
    if durability == .ordered { try database.synchronize() }
    events.log(
      .debug, "cache journal of a process that ended without closing it applied",
      ["directory": "\(database.directoryName)", "writes": "\(count)"])
    return count
  }

  /// The frames whose value is not in the value log, as indexes: a power cut or a failing device has taken it, or somebody
  /// who deletes files.
  private func framesWithoutValue(_ frames: [JournalFrame], stopsAtFirst: Bool) throws(SystemError) -> Set<Int> {
    var missing = Set<Int>()
    for index in frames.indices {
      guard let pointer = frames[index].pointer, try !isThere(pointer) else { continue }
      missing.insert(index)
      if stopsAtFirst { break }
    }
    return missing
  }

  private func isThere(_ pointer: ValuePointer) throws(SystemError) -> Bool {
    try ifReadable { () throws(SystemError) in try values.isIntact(pointer) } == true
  }

  /// Leaves frames out from one on that a power cut took: what comes after a write that is lost must not be there without
  /// it.
  private static func cutOff(_ frames: inout [JournalFrame], at index: Int) {
    // A batch is there as a whole, or not at all.
    var end = index
    while end > 0, frames[end - 1].flags.contains(.batchContinues) { end -= 1 }
    frames.removeSubrange(end...)
  }

  // MARK: A journal that cannot be applied now

  private func hideWhatIsOlder(than orphan: borrowing OrphanedJournal) throws(CacheError) {
    var hidden = HiddenKeys()
    let runs = orphan.runs
    try database.accessing("Reading \(database.directoryName)") { () throws(LMDBError) in
      try database.environment.withReadTransaction { (txn) throws(LMDBError) in
        for run in runs {
          for frame in run.frames { try note(frame, in: txn, &hidden) }
        }
      }
    }
    let newest = runs.last?.frames.last?.stamp ?? 0
    journal.lock.withLock {
      // What is written from now on is newer.
      journal.state.stamps.advance(to: newest)
      journal.hide(hidden)
    }
  }

  private func note(
    _ frame: JournalFrame, in txn: borrowing ReadTransaction, _ hidden: inout HiddenKeys
  ) throws(LMDBError) {
    switch frame.operation {
    case .put, .remove:
      let stamp = try database.databaseKey.withDatabaseKey(frame.key) { (key) throws(LMDBError) -> UInt64? in
        try txn.withValue(forKey: key) { RecordHeader($0)?.stamp } ?? nil
      }
      if let stamp, stamp < frame.stamp { try hide(.key(frame.key), frame.stamp, &hidden) }
    case .removePrefix: try hide(.prefix(frame.key), frame.stamp, &hidden)
    case .removeTag: try hide(.tag(frame.tag), frame.stamp, &hidden)
    case .removeAll: try hide(.everything, frame.stamp, &hidden)
    }
  }

  private func hide(
    _ scope: HiddenKeys.Scope, _ stamp: UInt64, _ hidden: inout HiddenKeys
  ) throws(LMDBError) {
    guard hidden.canInsert(scope) else {
      throw LMDBError(
        code: .noSpace, operation: "PeerRecovery.hide",
        message: "A journal of a process that ended has more writes than can be hidden. Free some space and open again."
      )
    }
    hidden.insert(scope, stamp: stamp)
  }

  // MARK: Committed stamps of journals that are gone

  /// Removes from the database what it knows of journals that are gone. On the writer thread, at times.
  func sweepCommittedStamps() throws(CacheError) {
    let activity = "Removing marks of old journals in \(database.directoryName)"
    let known = try database.withoutWriters(activity) { (session) throws(LMDBError) in
      try session.journalsWithCommittedStamp()
    }
    let gone = try calling(activity) { () throws(SystemError) in
      // Without its mark, a journal whose removal a power cut undoes would bring back what was removed since.
      let present = Set(try folder.identifiers())
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

extension WriteSession {
  /// Applies a write that may be older than what is there: what its process would have committed takes the place of a
  /// transaction that has not seen it.
  ///
  /// - Parameter isValueMissing: The value it puts is nowhere. What was there before is not there any more all the same.
  fileprivate mutating func apply(_ frame: JournalFrame, isValueMissing: Bool) throws(LMDBError) {
    let stamp = frame.stamp
    switch frame.operation {
    case .put where isValueMissing: try remove(frame)
    case .put:
      if stamp > metadata.clearStamp { try putIfNewer(frame) }
    case .remove:
      try remove(frame)
    case .removePrefix:
      try removeAll(withPrefix: frame.key) { $0.gives(wayTo: stamp) }
    case .removeTag:
      try removeAll(tag: frame.tag, stamp: stamp)
    case .removeAll:
      if stamp > metadata.clearStamp {
        try removeAll(withPrefix: UnsafeRawBufferPointer(start: nil, count: 0)) { $0.gives(wayTo: stamp) }
        metadata.clearStamp = stamp
      }
    }
    metadata.lastStamp = max(metadata.lastStamp, stamp)
  }
}
