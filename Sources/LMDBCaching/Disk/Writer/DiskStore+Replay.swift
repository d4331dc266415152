import LMDB
import Logging

extension DiskStore {
  /// Applies the journals whose processes are gone, and removes them. On the writer thread, or before it is started.
  func replayOrphanedJournals() {
    do throws(SystemError) {
      let folder = directory + "/" + JournalFile.folder
      let own = lock.withLock { state.journal?.path }
      for name in try Directory.names(in: folder) where name.hasSuffix(JournalFile.suffix) {
        let path = folder + "/" + name
        if path == own { continue }
        guard let journal = try OrphanedJournal(path: path) else { continue }
        do throws(LMDBError) {
          try makingRoom { () throws(LMDBError) in try replay(journal) }
        } catch {
          // It stays for the next scan.
          _ = failure(error, during: "Replaying \(path)")
          logger.error("cache journal not replayed", metadata: ["path": "\(path)", "error": "\(error)"])
          continue
        }
        try journal.remove()
      }
    } catch {
      logger.error("cache journals not scanned", metadata: ["directory": "\(directory)", "error": "\(error)"])
    }
  }

  /// Applies what is not in the database yet. Never puts an older write over a newer one, and nothing from before
  /// a `removeAll`.
  private func replay(_ journal: borrowing OrphanedJournal) throws(LMDBError) {
    if journal.frames.isEmpty { return }
    var session = try WriteSession(self)
    let watermark = try session.watermark(ofJournal: journal.identifier)
    var count = 0
    for frame in journal.frames where frame.stamp > watermark {
      try apply(frame, &session)
      session.metadata.lastStamp = max(session.metadata.lastStamp, frame.stamp)
      count += 1
    }
    try session.removeWatermark(ofJournal: journal.identifier)
    let superfluous = try session.commit(tracker)
    noteReplay()
    counters.replayedWrites.increment(by: count)
    removeFiles(superfluous)
    if count > 0 {
      logger.notice(
        "cache journal of a process that ended without closing it replayed",
        metadata: ["directory": "\(directory)", "writes": "\(count)"])
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
    try trusting("Removing marks of old journals in \(directory)") { () throws(LMDBError) in
      let session = try WriteSession(self)
      var removed = 0
      for journal in try session.journalsWithWatermark()
      where !Directory.exists(JournalFile.path(in: directory, identifier: journal)) {
        try session.removeWatermark(ofJournal: journal)
        removed += 1
      }
      if removed == 0 { return session.abort() }
      _ = try session.commit(tracker)
    }
  }
}
