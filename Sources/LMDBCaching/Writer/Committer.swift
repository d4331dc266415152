import LMDB
import Logging
import Platform
import Synchronization

/// Commits batches of the journal to the database, each as one transaction. On the writer thread.
///
/// A commit that failed after it took effect may be tried again: the database knows the last stamp of this journal that
/// it has, so nothing is applied a second time, over what other processes have written since.
// Sendable: it belongs to the writer thread, but for what is Sendable.
final class Committer: StorePart, @unchecked Sendable {
  /// The stamp of the last write of the journal that is in the database.
  private(set) var committedStamp: UInt64 = 0

  func commit(_ batch: CommitBatch) -> Result<CommitReport, CacheError> {
    let start = clock.monotonic
    return outcome { () throws(CacheError) in
      var report: CommitReport
      do throws(CacheError) {
        report = try applyInOrder(batch)
      } catch {
        guard error.isOfFullDisk, case let removals = journal.lock.withLock({ journal.removals }),
          batch.leavesNothing || !removals.isEmpty
        else { throw error }
        try removeFirst(removals)
        report = try applyInOrder(batch)
      }
      committedStamp = max(committedStamp, batch.segments.map(\.lastStamp).max() ?? 0)
      database.counters.committedWrites.increment(by: batch.segments.reduce(0) { $0 + $1.count })
      synchronizeIfNeeded(batch, &report)
      let nanoseconds = clock.monotonic - start
      store.metrics.noteCommit(nanoseconds: nanoseconds)
      database.counters.latencies.commits.record(nanoseconds: nanoseconds)
      return report
    }
  }

  /// To be called when the segments are taken back.
  func didTakeBack(_ report: CommitReport) {
    // Memory tiers have what this transaction left out: they must look again.
    if report.isPartial { database.tracker.invalidate() }
  }

  /// Commits the removals of a batch before the rest, with the reserve: LMDB writes new pages before it frees old ones,
  /// and what one transaction frees, the next but one can use.
  private func removeFirst(_ removals: [JournalSegment.PrefixRemoval]) throws(CacheError) {
    store.giveReserve()
    if removals.isEmpty { return }
    let activity = "Removing from \(database.directoryName)"
    do throws(CacheError) {
      try database.transact(activity) { (session) throws(LMDBError) in try remove(removals, &session) }
    } catch {
      // The list of the pages that it frees takes pages, too.
      guard error.isOfFullDisk, removals.contains(where: \.prefix.isEmpty), try store.trimmer.evictAll()
      else { throw error }
    }
    try database.transact(activity) { _ in }
    // Of the free pages some are holes, which take blocks of the disk when they are used.
    try store.space.sweep()
  }

  private func applyInOrder(_ batch: CommitBatch) throws(CacheError) -> CommitReport {
    try store.peers.applyBeforeCommit(leavingNothing: batch.leavesNothing)
    if isMapNearlyFull { _ = makeRoom() }
    return try apply(batch)
  }

  private func apply(_ batch: CommitBatch) throws(CacheError) -> CommitReport {
    var report = CommitReport()
    var metadata: CacheMetadata?
    try database.transact("Committing to \(database.directoryName)", makingRoom: makeRoomForCommit) {
      (session) throws(LMDBError) in
      report = CommitReport()
      let committed = try session.committedStamp(ofJournal: batch.journal)
      for segment in batch.segments where segment.lastStamp > committed { try apply(segment, &session, &report) }
      if let last = batch.segments.map(\.lastStamp).max(), last > committed {
        try session.setCommittedStamp(last, ofJournal: batch.journal)
      }
      metadata = session.metadata
      journal.committingPosition.store(session.position, ordering: .sequentiallyConsistent)
    }
    if let metadata, store.trimmer.limits.withLock({ $0 }).isFarExceeded(by: metadata) {
      store.maintenance.enqueueTrim()
    }
    return report
  }

  private func makeRoomForCommit() -> Bool {
    // The transaction is over: readers find nothing of it in the database.
    journal.didNotCommit()
    return makeRoom()
  }

  private func apply(
    _ segment: JournalSegment, _ session: inout WriteSession, _ report: inout CommitReport
  ) throws(LMDBError) {
    if segment.clearStamp > session.foreignClearStamp { try session.removeAll(stamp: segment.clearStamp) }
    if segment.clearStamp > 0 || !segment.prefixRemovals.isEmpty || !segment.tagRemovals.isEmpty {
      // With them, perhaps, what others wrote later.
      store.feed.followAgain()
      store.maintenance.wantSweep()
    }
    for (tag, stamp) in segment.tagRemovals { try session.removeAll(tag: tag, stamp: stamp) }
    for removal in segment.prefixRemovals {
      try removal.prefix.withBytes { (prefix) throws(LMDBError) in try session.removeAll(withPrefix: prefix) }
    }
    let plan = CommitPlan(segment, database.databaseKey)
    for index in plan.entries.indices {
      let entry = plan.entries[index]
      switch entry.frame.operation {
      case .put:
        // Another process removed everything after this was written.
        if entry.frame.stamp <= session.foreignClearStamp {
          report.isPartial = true
          continue
        }
        let isThere = try session.putUnlessRemoved(entry.frame.record, forKey: entry.databaseKey)
        if !isThere { report.isPartial = true }
      case .remove:
        _ = try session.remove(entry.databaseKey, of: entry.frame.key)
      case .removeAll, .removePrefix, .removeTag:
        break  // Not in the index.
      }
    }
    session.metadata.lastStamp = max(session.metadata.lastStamp, segment.lastStamp)
  }

  private func remove(_ removals: [JournalSegment.PrefixRemoval], _ session: inout WriteSession) throws(LMDBError) {
    for removal in removals {
      if removal.prefix.isEmpty, removal.stamp > session.metadata.lastStamp {
        try session.removeAll(stamp: removal.stamp)
      } else {
        try removal.prefix.withBytes { (prefix) throws(LMDBError) in
          try session.removeAll(withPrefix: prefix) { $0.stamp < removal.stamp }
        }
      }
    }
  }

  /// What went past the journal is in no image of it, and has to be on the disk before its write returns.
  private func synchronizeIfNeeded(_ batch: CommitBatch, _ report: inout CommitReport) {
    guard store.durability == .ordered, batch.segments.contains(where: { !$0.isMapped }) else { return }
    do throws(CacheError) {
      try database.synchronize()
      report.isSynchronized = true
    } catch {
      report.synchronizationFailure = error
    }
  }

  // MARK: Room in the map

  /// Whether less than an eighth is left. LMDB cannot take anything out of a map that is full to the last page.
  private var isMapNearlyFull: Bool {
    do throws(LMDBError) {
      let info = try database.environment.info()
      return info.main.usedBytes > info.mapSize / 8 * 7
    } catch {
      return false  // The commit meets the same failure, and reports it.
    }
  }

  /// Doubles the map, or drops entries where the address space is used up. While a snapshot keeps the map from growing
  /// nothing is dropped: no limit asks for it, and the commit is tried again.
  func makeRoom() -> Bool {
    do throws(LMDBError) {
      // What readers that died kept from being used again may be enough.
      if try database.environment.checkReaders() > 0 { return true }
      let size = try database.environment.info().mapSize
      try database.environment.growMap(to: size.multipliedClamped(by: 2))
      events.log(.notice, "cache map grown", ["directory": "\(database.directoryName)", "bytes": "\(size * 2)"])
      return true
    } catch {
      if error.code == .busy { return false }
      events.log(
        .warning, "cache map is full and cannot grow: evicting",
        ["directory": "\(database.directoryName)", "error": "\(error)"])
    }
    do throws(CacheError) {
      return try store.trimmer.evictTenth()
    } catch {
      return false
    }
  }
}

/// A segment's frames in LMDB key order, so that writing them touches each page once.
struct CommitPlan: ~Copyable {
  struct Entry {
    /// Eight big-endian bytes of the key, after the prefix shared by all; they decide most comparisons.
    fileprivate(set) var order: UInt64 = 0
    let databaseKey: ByteView
    let frame: JournalFrame
  }

  private(set) var entries: [Entry] = []
  private var ownKeys = OwnedKeys()

  init(_ segment: JournalSegment, _ databaseKey: DatabaseKey) {
    entries.reserveCapacity(segment.count)
    segment.forEachFrame { frame in
      entries.append(Entry(databaseKey: ownKeys.databaseKey(of: frame.key, databaseKey), frame: frame))
    }
    let shared = sharedPrefix
    for index in entries.indices { entries[index].order = Self.order(entries[index].databaseKey, from: shared) }
    entries.sort { first, second in
      if first.order != second.order { return first.order < second.order }
      if first.databaseKey.precedes(second.databaseKey) { return true }
      // For two long keys with one digest, the later write wins.
      return first.databaseKey.count == DatabaseKey.maximumLength && first.frame.stamp < second.frame.stamp
        && second.databaseKey.elementsEqual(fast: first.databaseKey)
    }
  }

  private var sharedPrefix: Int {
    guard let first = entries.first?.databaseKey else { return 0 }
    var shared = first.count
    for entry in entries where shared > 0 {
      shared = unsafe first.buffer.sharedPrefix(with: entry.databaseKey.buffer, limit: shared)
    }
    return shared
  }

  @inline(__always)
  private static func order(_ key: ByteView, from start: Int) -> UInt64 {
    if key.count - start >= 8 {
      return key.load(start, as: UInt64.self).byteSwapped
    }
    var order: UInt64 = 0
    for index in start..<key.count { order |= UInt64(key[index]) << (56 - 8 * UInt64(index - start)) }
    return order
  }
}
