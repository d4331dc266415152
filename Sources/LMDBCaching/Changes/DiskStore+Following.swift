import LMDB
import Logging
import Synchronization

// Telling observers what other processes committed. On the writer thread: nothing of this process is committed while a
// part of the database is held against what an observer knows.

extension DiskStore {
  /// How many entries one read transaction looks at.
  private static let partLength = 2_000

  /// Follows soon, on the writer thread, if there is anything new. Any thread.
  func followIfNeeded() {
    guard feed.isObserved.load(ordering: .relaxed),
      foreignEpoch > feed.followedTransaction.load(ordering: .acquiring)
        || feed.followedTransaction.load(ordering: .acquiring) == 0,
      clock.monotonic >= feed.nextFollow.load(ordering: .relaxed),
      !feed.isFollowQueued.exchange(true, ordering: .acquiringAndReleasing)
    else { return }
    enqueueOnWriterThread { [self] in follow() }
  }

  /// This process's own commit may have removed what others wrote after the removal.
  func followAgain() { feed.followedTransaction.store(0, ordering: .releasing) }

  private func follow() {
    feed.isFollowQueued.store(false, ordering: .releasing)
    let start = clock.monotonic
    var pause: Int64
    do throws(CacheError) {
      // What an observer begins with has to be in the database.
      var isAnyNew = false
      feed.deliver { watches in
        isAnyNew = watches.contains(where: \.isFirstScan)
        return []
      }
      if isAnyNew { commitWaiting() }
      // An observer that comes meanwhile sets it to 0 again, and is not lost by the exchange.
      feed.followedTransaction.store(.max, ordering: .releasing)
      var followed = UInt64.max
      for watch in feed.watches { followed = min(followed, try follow(watch)) }
      _ = feed.followedTransaction.compareExchange(
        expected: .max, desired: followed == .max ? 0 : followed, ordering: .acquiringAndReleasing)
      pause = (clock.monotonic - start) * 10
    } catch {
      feed.followedTransaction.store(0, ordering: .releasing)
      pause = 1_000_000_000
      if error.code != .closed {
        logger.warning("cache changes not followed", metadata: ["directory": "\(directory)", "error": "\(error)"])
      }
    }
    feed.nextFollow.store(clock.monotonic + pause, ordering: .relaxed)
  }

  /// Brings one observer up to date; returns the transaction up to which it is.
  private func follow(_ watch: ChangeWatch) throws(CacheError) -> UInt64 {
    var position = FollowPosition()
    var transaction: UInt64?
    while true {
      let part = try part(of: watch.prefix, at: position)
      let isFirst = transaction == nil
      transaction = transaction ?? part.transaction
      feed.deliver { _ in
        let beginning = isFirst ? watch.beginScan(clearStamp: part.clearStamp) : []
        return beginning
          + part.records.compactMap { watch.meet($0.key, stamp: $0.stamp, pending: pendingWrite(of: $0.key)) }
      }
      guard let next = part.next else { break }
      position = next
      try pauseForCommits()
    }
    var unmet: [String] = []
    feed.deliver { _ in
      unmet = watch.unmet.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
      return []
    }
    while !unmet.isEmpty {
      let part = unmet.prefix(Self.partLength)
      feed.deliver { _ in
        part.compactMap { key in
          isGone(key) ? watch.noteRemoved(key) : nil
        }
      }
      unmet.removeFirst(part.count)
      try pauseForCommits()
    }
    var isComplete = false
    feed.deliver { _ in
      let delivery = watch.endScan(epoch: foreignEpoch)
      isComplete = !watch.isFirstScan
      return [delivery].compactMap(\.self)
    }
    return isComplete ? transaction ?? 0 : 0
  }

  /// Whether a key that was not met is not there; one that was written meanwhile is.
  private func isGone(_ key: String) -> Bool {
    CacheKey.with(key) { key in
      do throws(CacheError) { return try header(key) == nil && !isMemoryOnly(key) } catch { return false }
    }
  }

  private func pauseForCommits() throws(CacheError) {
    commitIfDue()
    if lock.withLock({ state.isStopping }) { throw .closed }
  }

  private func pendingWrite(of key: String) -> JournalSegment.Lookup {
    guard hasPending.load(ordering: .acquiring) else { return .unknown }
    return CacheKey.with(key) { key in lock.withLock { pendingRecord(key, epoch: foreignEpoch) } }
  }

  // MARK: Reading a part

  private struct FollowPosition {
    var isInLongKeys = false
    /// The last of LMDB's keys that was looked at.
    var last: [UInt8]?
  }

  private struct FollowPart {
    var transaction: UInt64
    var clearStamp: UInt64
    var records: [(key: String, stamp: UInt64)] = []
    var next: FollowPosition?
  }

  private func part(of prefix: String, at position: FollowPosition) throws(CacheError) -> FollowPart {
    try trusting("Following the changes of \(directory)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        guard case .metadata(let metadata)? = try Self.readMetadata(txn) else {
          throw LMDBError(
            code: .corrupted, operation: "DiskStore.follow", message: "The cache's own record is damaged.")
        }
        var part = FollowPart(transaction: environment.position(of: txn), clearStamp: metadata.clearStamp)
        try withUTF8Bytes(of: prefix) { (prefix) throws(LMDBError) in
          try txn.withCursor { (cursor) throws(LMDBError) in
            try collect(prefix, position, cursor, &part)
          }
        }
        return part
      }
    }
  }

  private func collect(
    _ prefix: UnsafeRawBufferPointer, _ position: FollowPosition, _ cursor: borrowing Cursor, _ part: inout FollowPart
  ) throws(LMDBError) {
    let now = clock.now
    let range = position.isInLongKeys ? KeyRange.long(ofPrefix: prefix) : KeyRange.plain(ofPrefix: prefix)
    var entry = try position.last == nil ? range.first(cursor) : Self.position(cursor, after: position.last)
    var looked = 0
    while let found = entry, range.contains(found.key) {
      if let header = RecordHeader(found.value), !header.isExpired(at: now),
        let key = DatabaseKey.key(ofDatabaseKey: found.key, record: found.value, header: header), key.hasPrefix(prefix)
      {
        part.records.append((String(decoding: key, as: UTF8.self), header.stamp))
      }
      looked += 1
      if looked == Self.partLength {
        part.next = FollowPosition(isInLongKeys: position.isInLongKeys, last: Array(found.key))
        return
      }
      entry = try cursor.next()
    }
    if !position.isInLongKeys { part.next = FollowPosition(isInLongKeys: true) }
  }
}
