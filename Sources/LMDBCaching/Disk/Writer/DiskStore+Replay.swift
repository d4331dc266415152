import LMDB
import Logging
import Synchronization

extension DiskStore {
  /// Brings in what processes that died left: their journals, and their places in the reader table, which keep pages
  /// from being used again. On the writer thread, or before it is started.
  ///
  /// - Parameter isOpening: Whether nobody has read anything yet. Then this waits until another process that is at it has
  ///   finished; and what is on the disk under the keys of a journal that cannot be applied now, since the disk is full,
  ///   say, is hidden: it is older than what was acknowledged.
  func takeOverFromDeadPeers(isOpening: Bool) {
    replayOrphanedJournals(isOpening: isOpening)
    do throws(CacheError) {
      _ = try checkReaders()
    } catch {
      logger.warning("cache readers not checked", metadata: ["directory": "\(directory)", "error": "\(error)"])
    }
  }

  /// Applies the journals whose processes are gone, and removes them.
  func replayOrphanedJournals(isOpening: Bool = false) {
    do throws(SystemError) {
      let folder = directory + "/" + JournalFile.folder
      let own = lock.withLock { state.journal?.path }
      let paths = try Directory.names(in: folder).filter { $0.hasSuffix(JournalFile.suffix) }
        .map { folder + "/" + $0 }.filter { $0 != own }
      if paths.isEmpty { return replayFailure = nil }
      // One process at a time: a journal whose lock cannot be had is then one whose owner lives, and not one that
      // another process is about to bring in.
      guard let turn = try ReplayTurn(folder, waits: isOpening) else { return }
      replayFailure = nil
      for path in paths {
        guard let journal = try OrphanedJournal(path: path) else { continue }
        do throws(LMDBError) {
          _ = try makingRoom { () throws(LMDBError) in try replay(journal) }
        } catch {
          // It stays for the next scan.
          _ = failure(error, during: "Replaying \(path)")
          if isOpening { hideWhatIsOlder(than: journal) }
          // That somebody holds the lock is told by the next commit, once.
          if error.code == .lockTimeout {
            replayFailure = error
            continue
          }
          logger.error("cache journal not replayed", metadata: ["path": "\(path)", "error": "\(error)"])
          replayFailure = error
          continue
        }
        try journal.remove()
      }
      turn.end()
    } catch {
      logger.error("cache journals not scanned", metadata: ["directory": "\(directory)", "error": "\(error)"])
    }
  }

  /// Applies what is not in the database yet. Never puts an older write over a newer one, and nothing from before
  /// a `removeAll`.
  ///
  /// The journal's watermark stays until its file is gone for good: see ``sweepWatermarks()``. If this process dies in
  /// between, or a power cut undoes the removal, the journal must not be applied once more: a value that was removed
  /// since would come back.
  func replay(_ journal: borrowing OrphanedJournal) throws(LMDBError) -> Int {
    guard let last = journal.runs.last?.frames.last else { return 0 }
    var session = try beginSession()
    let watermark = try session.watermark(ofJournal: journal.identifier)
    guard last.stamp > watermark else {
      session.abort()
      return 0
    }
    var count = 0
    // A database that was just made anew has nothing of what the journal goes on from.
    for frame in JournalRun.frames(of: journal.runs, after: watermark, ignoringGaps: recovery != nil) {
      try apply(frame, &session)
      session.metadata.lastStamp = max(session.metadata.lastStamp, frame.stamp)
      count += 1
    }
    try session.setWatermark(last.stamp, ofJournal: journal.identifier)
    removeReplacedFiles(try session.commit(tracker))
    noteReplay()
    counters.replayedWrites.increment(by: count)
    // The journal is removed now. A power cut must not undo the commit and leave neither.
    if durability == .ordered { try synchronize() }
    logger.notice(
      "cache journal of a process that ended without closing it replayed",
      metadata: ["directory": "\(directory)", "writes": "\(count)"])
    return count
  }

  private func hideWhatIsOlder(than journal: borrowing OrphanedJournal) {
    var stale = UnrecordedKeys()
    let runs = journal.runs
    do throws(LMDBError) {
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        for run in runs {
          for frame in run.frames { try note(frame, in: txn, &stale) }
        }
      }
    } catch {
      // It cannot be read, so nothing stale will be.
      logger.error("cache not read", metadata: ["directory": "\(directory)", "error": "\(error)"])
    }
    let newest = runs.last?.frames.last?.stamp ?? 0
    lock.withLock {
      // What is written from now on is newer.
      state.lastStamp = max(state.lastStamp, newest)
      if stale.isEmpty { return }
      state.unrecorded.formUnion(stale)
      hasPending.store(true, ordering: .releasing)
    }
  }

  private func note(
    _ frame: JournalFrame, in txn: borrowing ReadTransaction, _ stale: inout UnrecordedKeys
  ) throws(LMDBError) {
    switch frame.operation {
    case .put, .remove:
      let stamp = try databaseKey.withDatabaseKey(frame.key) { (key) throws(LMDBError) -> UInt64? in
        try txn.withValue(forKey: key) { RecordHeader($0)?.stamp } ?? nil
      }
      if let stamp, stamp < frame.stamp { stale.insert(frame.key, stamp: frame.stamp) }
    case .removePrefix, .removeAll:
      var keys: [[UInt8]] = []
      try txn.withCursor { (cursor) throws(LMDBError) in
        for range in KeyRange.ranges(ofPrefix: frame.key) {
          var position = try range.first(cursor)
          while let entry = position, range.contains(entry.key) {
            if let header = RecordHeader(entry.value), header.stamp < frame.stamp,
              let key = DatabaseKey.key(ofDatabaseKey: entry.key, record: entry.value, header: header),
              key.hasPrefix(frame.key)
            {
              keys.append(Array(key))
            }
            position = try cursor.next()
          }
        }
      }
      for key in keys { key.withUnsafeBytes { stale.insert($0, stamp: frame.stamp) } }
    }
  }

  private func apply(_ frame: JournalFrame, _ session: inout WriteSession) throws(LMDBError) {
    let stamp = frame.stamp
    switch frame.operation {
    case .put:
      if stamp <= session.metadata.clearStamp { return }
      try databaseKey.withDatabaseKey(frame.key) { (key) throws(LMDBError) in
        if let existing = try session.header(forKey: key), existing.stamp >= stamp { return }
        try session.put(frame.record, forKey: key)
      }
    case .remove:
      try databaseKey.withDatabaseKey(frame.key) { (key) throws(LMDBError) in
        _ = try session.remove(key, of: frame.key) { $0.stamp < stamp }
      }
    case .removePrefix:
      try session.removeAll(withPrefix: frame.key) { $0.stamp < stamp }
    case .removeAll:
      if stamp <= session.metadata.clearStamp { return }
      try session.removeAll(withPrefix: UnsafeRawBufferPointer(start: nil, count: 0)) { $0.stamp < stamp }
      session.metadata.clearStamp = stamp
    }
  }

  /// The replayed writes came from elsewhere: memory tiers have to look at their entries again, and new stamps
  /// have to be greater.
  private func noteReplay() {
    tracker.invalidate()
    guard let metadata = try? metadata() else { return }  // The next commit fails by the same cause, and reports it.
    lock.withLock { state.lastStamp = max(state.lastStamp, metadata.lastStamp) }
  }

  /// Removes the watermarks of journals that are gone. On the writer thread, at times.
  func sweepWatermarks() throws(CacheError) {
    let activity = "Removing marks of old journals in \(directory)"
    let gone = try trusting(activity) { () throws(LMDBError) -> [UInt64] in
      let session = try beginSession()
      let journals = try session.journalsWithWatermark()
      session.abort()
      return journals.filter { !Directory.exists(JournalFile.path(in: directory, identifier: $0)) }
    }
    if gone.isEmpty { return }
    // Without its mark, a journal whose removal a power cut undoes would bring back what was removed since.
    try calling(activity) { () throws(SystemError) in
      try Directory.synchronizeIfPresent(directory + "/" + JournalFile.folder)
    }
    try trusting(activity) { () throws(LMDBError) in
      let session = try beginSession()
      for journal in gone { try session.removeWatermark(ofJournal: journal) }
      _ = try session.commit(tracker)
    }
  }
}
