import LMDB
import Logging
import Synchronization

extension DiskStore {
  /// How often a batch is tried again in one commit, after the map grew or entries were evicted for it.
  private static let maximumAttempts = 8

  /// Commits segments, oldest first, as one transaction. On the writer thread.
  func commit(_ batch: CommitBatch) -> Result<CommitReport, CacheError> {
    // Before what is newer: a removal leaves nothing that an older write could be held against.
    if replayFailure != nil { replayOrphanedJournals() }
    if let replayFailure {
      return .failure(
        CacheError(replayFailure, during: "Applying the journal of a process that ended, in \(directory)"))
    }
    if isMapNearlyFull { _ = makeRoom() }
    do throws(LMDBError) {
      return .success(try makingRoom { () throws(LMDBError) in try commitOnce(batch) })
    } catch {
      return .failure(failure(error, during: "Committing to \(directory)"))
    }
  }

  /// Runs a whole transaction, again after making room where the map is full. On the writer thread, or before it is
  /// started.
  func makingRoom<R>(_ transaction: () throws(LMDBError) -> R) throws(LMDBError) -> R {
    var attempt = 1
    while true {
      do throws(LMDBError) {
        return try transaction()
      } catch {
        guard error.code == .mapFull, attempt < Self.maximumAttempts, makeRoom() else { throw error }
        attempt += 1
      }
    }
  }

  /// Whether less than an eighth is left. LMDB cannot take anything out of a map that is full to the last page.
  private var isMapNearlyFull: Bool {
    do throws(LMDBError) {
      let info = try environment.info()
      return (info.branchPages + info.leafPages + info.overflowPages) * info.pageSize > info.mapSize / 8 * 7
    } catch {
      return false  // The commit meets the same failure, and reports it.
    }
  }

  private func commitOnce(_ batch: CommitBatch) throws(LMDBError) -> CommitReport {
    let segments = batch.segments
    var report = CommitReport()
    var session = try beginSession()
    var count = 0
    for segment in segments {
      try apply(segment, &session, &report)
      count += segment.count
    }
    try remove(batch.unrecorded, &session)
    if let journal = batch.journal, let last = segments.map(\.lastStamp).max(), last > 0 {
      try session.setWatermark(last, ofJournal: journal)
    }
    let metadata = session.metadata
    committingTransaction.store(session.id, ordering: .sequentiallyConsistent)
    var superfluous: [ValueFileReference]
    do throws(LMDBError) {
      superfluous = try session.commit(tracker)
    } catch {
      committingTransaction.store(0, ordering: .releasing)
      throw error
    }
    watermark = max(watermark, segments.map(\.lastStamp).max() ?? 0)
    counters.commits.increment()
    counters.committedWrites.increment(by: count)
    for segment in segments { superfluous += segment.supersededFiles }
    removeReplacedFiles(superfluous)
    // What went past the journal is in no image of it.
    if durability == .ordered, segments.contains(where: { !$0.isMapped }) { try synchronize() }
    if limits.withLock({ $0 }).isFarExceeded(by: metadata) { enqueueTrimToLimits() }
    return report
  }

  private func apply(
    _ segment: JournalSegment, _ session: inout WriteSession, _ report: inout CommitReport
  ) throws(LMDBError) {
    if segment.clearStamp > session.foreignClearStamp { try session.removeAll(stamp: segment.clearStamp) }
    if segment.clearStamp > 0 || !segment.prefixRemovals.isEmpty { followAgain() }
    for removal in segment.prefixRemovals {
      try removal.prefix.withBytes { (prefix) throws(LMDBError) in try session.removeAll(withPrefix: prefix) }
    }
    let plan = CommitPlan(segment, databaseKey)
    for index in plan.entries.indices {
      let entry = plan.entries[index]
      switch entry.frame.operation {
      case .put:
        // Another process removed everything after this was written.
        if entry.frame.stamp <= session.foreignClearStamp {
          report.isPartial = true
          continue
        }
        try session.put(entry.frame.record, forKey: entry.databaseKey)
      case .remove:
        _ = try session.remove(entry.databaseKey, of: entry.frame.key)
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
          _ = try session.remove(databaseKey, of: key) { $0.stamp < stamp }
        }
      }
    }
  }

  /// Doubles the map, or drops the least recently used tenth of the entries where it cannot grow.
  private func makeRoom() -> Bool {
    do throws(LMDBError) {
      // What readers that died kept from being used again may be enough.
      if try environment.checkReaders() > 0 { return true }

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
    try trusting("Reading the counts of \(directory)") { () throws(LMDBError) in
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
    try trusting("Synchronizing \(directory)") { () throws(LMDBError) in try synchronize() }
  }
}
