import Platform
import Synchronization

extension DiskStore {
  /// Adds a put to a batch: transforms the payload, and appends a long one to the value log.
  func put(
    _ key: CacheKey, header: RecordHeader, payload: ByteView, through transforms: ValueTransforms,
    into batch: BatchFrames
  ) throws(CacheError) {
    guard !transforms.isEmpty, let transformed = try transforms.apply(to: payload, header, key) else {
      return try putAsIs(key, header, payload, into: batch)
    }
    var header = header
    header.flags.insert(.transformed)
    try transformed.withBytes { (bytes) throws(CacheError) in try putAsIs(key, header, bytes, into: batch) }
  }

  func putAsIs(
    _ key: CacheKey, _ header: RecordHeader, _ payload: ByteView, into batch: BatchFrames
  ) throws(CacheError) {
    if payload.count <= inlineThreshold {
      batch.put(key, header, payload)
    } else if payload.count > ValueGroup.longestValue {
      batch.put(key, header, try appendValue(payload, key: key, isAwaited: batch.isAwaited))
    } else {
      if batch.group.size + payload.count > min(values.groupLimit, ValueGroup.fullSize) { try appendGroup(of: batch) }
      database.databaseKey.withDatabaseKey(key.utf8) { batch.group.add(payload, key: $0) }
      batch.putWaiting(key, header)
    }
  }

  private func appendGroup(of batch: BatchFrames) throws(CacheError) {
    if batch.group.isEmpty { return }
    batch.resolve(
      try appending("Writing the values of a batch") { (owner) throws(SystemError) in
        try values.append(&batch.group, owner: owner, isAwaited: batch.isAwaited)
      })
  }

  /// Writes all operations atomically, with consecutive stamps. Returns when the batch survives a process crash, and in
  /// ``Durability/full`` when it is on disk.
  ///
  /// - Parameter condition: Evaluated under the lock, at the moment of the write. If it fails, nothing is written.
  /// - Returns: Whether `condition` held.
  @discardableResult
  func write(_ batch: BatchFrames, waitsForCommit: Bool, if condition: (() -> Bool)? = nil) throws(CacheError) -> Bool {
    if batch.isEmpty {
      if waitsForCommit { try commitPending() }
      return true
    }
    if observers.conditional.isGuarded {
      for entry in batch.entries { try admit(batch.frame(of: entry).scope) }
    }
    try appendGroup(of: batch)
    var firstStamp: UInt64 = 0
    var isRemovalAnnounced = false
    let outcome = try append(size: batch.size, if: condition, large: { JournalSegment(of: batch) }) { segment in
      segment.append(batch) { entry in
        let stamp = firstStamp == 0 ? journal.state.stamps.next(clock) : journal.state.stamps.following()
        if firstStamp == 0 { firstStamp = stamp }
        if entry.headerLength > 0 { journal.state.writes.sets &+= 1 } else { journal.state.writes.removals &+= 1 }
        if let hash = entry.keyIdentity {
          if observers.count.load(ordering: .relaxed) > 0 {
            observers.announce(String(utf8: batch.frame(of: entry).key), hash, stamp)
          } else {
            // Only memory tiers need the key's text.
            observers.conditional.note(hash)
          }
        } else {
          if !isRemovalAnnounced { database.tracker.beginRemoval() }
          isRemovalAnnounced = true
          let frame = batch.frame(of: entry)
          if frame.operation == .removeTag {
            journal.tagRemovals.note(frame.tag, stamp: stamp)
            feed.noteUntoldRemoval()
          }
          observers.announceAll(frame.scope, stamp)
        }
        return stamp
      }
      return journal.state.stamps.last
    }
    if outcome.isRefused { return false }
    didChange(batch, firstStamp: firstStamp, lastStamp: outcome.stamp)
    if isRemovalAnnounced { database.tracker.endRemoval() }
    // Watchers learn of tag removals when the database is next read, because a tag's keys are unknown here.
    try outcome.checkCommitted()
    if waitsForCommit { try commitPending() }
    return true
  }

  /// Memory entries under a removed prefix predate the batch; a single key's value predates its end.
  private func didChange(_ batch: BatchFrames, firstStamp: UInt64, lastStamp: UInt64) {
    let observers = observers.all
    let isObserved = feed.isObserved.load(ordering: .relaxed)
    if observers.isEmpty && !isObserved { return }
    for observer in observers {
      for entry in batch.entries where batch.frame(of: entry).operation != .removeTag {
        let text = String(utf8: batch.frame(of: entry).key)
        if let hash = entry.keyIdentity {
          observer.didChange(text, hash: hash, stamp: lastStamp)
        } else {
          observer.didRemoveAll(withPrefix: text, stamp: firstStamp)
        }
      }
    }
    guard isObserved else { return }
    for entry in batch.entries where batch.frame(of: entry).operation != .removeTag {
      let text = String(utf8: batch.frame(of: entry).key)
      if entry.keyIdentity == nil {
        feed.noteRemoval(ofAll: text, stamp: firstStamp, lastStamp: lastStamp)
      } else {
        CacheKey.with(text) { feed.noteChange($0, lastStamp) }
      }
    }
  }
}
