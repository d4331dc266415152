import LMDB
import Logging
import Synchronization

extension DiskStore {
  /// How often a batch is tried again in one commit, after the map grew or entries were evicted for it.
  private static let maximumAttempts = 8

  /// Commits segments, oldest first, as one transaction. On the writer thread.
  func commit(_ segments: [JournalSegment]) -> Result<Void, CacheError> {
    var attempt = 1
    while true {
      do throws(LMDBError) {
        try commitOnce(segments)
        return .success(())
      } catch {
        if error.code == .mapFull, attempt < Self.maximumAttempts, makeRoom() {
          attempt += 1
          continue
        }
        return .failure(CacheError(error, during: "Committing to \(directory)"))
      }
    }
  }

  private func commitOnce(_ segments: [JournalSegment]) throws(LMDBError) {
    let unrecorded = lock.withLock { state.unrecorded }
    let journal = lock.withLock { state.journal?.identifier }
    var session = try WriteSession(self)
    var count = 0
    for segment in segments {
      try apply(segment, &session)
      count += segment.count
    }
    try remove(unrecorded, &session)
    if let journal, let last = segments.last(where: \.isMapped)?.lastStamp, last > 0 {
      try session.setWatermark(last, ofJournal: journal)
    }
    let metadata = session.metadata
    var superfluous = try session.commit(tracker)
    counters.commits.increment()
    counters.committedWrites.increment(by: count)
    for segment in segments { superfluous += segment.supersededFiles }
    removeFiles(superfluous)
    if !unrecorded.isEmpty { lock.withLock { state.unrecorded.subtract(unrecorded) } }
    if limits.withLock({ $0 }).isFarExceeded(by: metadata) { enqueueTrimToLimits() }
  }

  private func apply(_ segment: JournalSegment, _ session: inout WriteSession) throws(LMDBError) {
    if segment.clearStamp > session.foreignClearStamp { try session.removeAll(stamp: segment.clearStamp) }
    for removal in segment.prefixRemovals {
      try removal.prefix.withBytes { (prefix) throws(LMDBError) in try session.removeAll(withPrefix: prefix) }
    }
    let plan = CommitPlan(segment, databaseKey)
    for index in plan.entries.indices {
      let entry = plan.entries[index]
      switch entry.frame.operation {
      case .put:
        // Another process removed everything after this was written.
        if entry.frame.stamp <= session.foreignClearStamp { continue }
        try session.put(entry.frame.record, forKey: entry.databaseKey)
      case .remove:
        _ = try session.remove(entry.databaseKey)
      case .removeAll, .removePrefix:
        break  // Not in the index.
      }
    }
    session.metadata.lastStamp = max(session.metadata.lastStamp, segment.lastStamp)
  }

  /// Removes what was replaced by writes that could not be recorded.
  private func remove(_ unrecorded: UnrecordedKeys, _ session: inout WriteSession) throws(LMDBError) {
    if unrecorded.everything != 0 {
      try session.removeAll(withPrefix: UnsafeRawBufferPointer(start: nil, count: 0)) {
        $0.stamp < unrecorded.everything
      }
    }
    for (key, stamp) in unrecorded.stamps {
      try key.withBytes { (key) throws(LMDBError) in
        try databaseKey.withDatabaseKey(key) { (databaseKey) throws(LMDBError) in
          _ = try session.remove(databaseKey) { $0.stamp < stamp }
        }
      }
    }
  }

  /// Doubles the map, or drops the least recently used tenth of the entries where it cannot grow.
  private func makeRoom() -> Bool {
    do throws(LMDBError) {
      let size = try environment.info().mapSize
      try environment.growMap(to: size * 2)
      logger.notice("cache map grown", metadata: ["directory": "\(directory)", "bytes": "\(size * 2)"])
      return true
    } catch {
      logger.warning(
        "cache map is full and cannot grow: evicting", metadata: ["directory": "\(directory)", "error": "\(error)"])
    }
    do throws(CacheError) {
      return try evictTenth()
    } catch {
      return false
    }
  }

  // MARK: Metadata

  static func readMetadata(_ txn: borrowing WriteTransaction) throws(LMDBError) -> CacheMetadata.Reading? {
    try CacheMetadata.key.withBytes { (key) throws(LMDBError) in
      try txn.withValue(forKey: key) { CacheMetadata.read($0) }
    }
  }

  static func readMetadata(_ txn: borrowing ReadTransaction) throws(LMDBError) -> CacheMetadata.Reading? {
    try CacheMetadata.key.withBytes { (key) throws(LMDBError) in
      try txn.withValue(forKey: key) { CacheMetadata.read($0) }
    }
  }

  static func write(_ metadata: CacheMetadata, _ txn: borrowing WriteTransaction) throws(LMDBError) {
    var bytes = [UInt8](repeating: 0, count: CacheMetadata.size)
    bytes.withUnsafeMutableBytes { metadata.write(to: $0) }
    try CacheMetadata.key.withBytes { (key) throws(LMDBError) in
      try bytes.withBytes { (bytes) throws(LMDBError) in try txn.put(bytes, forKey: key) }
    }
  }

  /// Number of entries and their cost, as committed.
  func metadata() throws(CacheError) -> CacheMetadata {
    try storing("Reading the counts of \(directory)") { () throws(LMDBError) in
      let reading = try environment.withReadTransaction { (txn) throws(LMDBError) in try Self.readMetadata(txn) }
      guard case .metadata(let metadata)? = reading else {
        throw LMDBError(
          code: .corrupted, operation: "DiskStore.metadata", message: "The cache's own record is damaged.")
      }
      return metadata
    }
  }

  /// Makes everything written so far safe from a power cut, in every durability mode.
  func flush() throws(CacheError) {
    try commitPending()
    try storing("Synchronizing \(directory)") { () throws(LMDBError) in try environment.sync(force: true) }
  }
}
