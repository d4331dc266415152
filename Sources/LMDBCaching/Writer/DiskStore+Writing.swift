import Foundation
import Platform
import Synchronization

extension DiskStore {
  // MARK: Single writes

  /// Writes a record. Returns when the write survives a process crash, and in ``Durability/full`` when it is on disk.
  ///
  /// On a full disk it survives only its commit, as ``health`` reports; without room in the journal, it throws and
  /// changes nothing.
  ///
  /// - Parameters:
  ///   - transforms: What the value goes through, of the cache that writes it.
  ///   - draft: Keeps the transformed and appended value for another attempt.
  ///   - condition: Called with the lock held, at the moment of the write, perhaps more than once. If it fails, nothing
  ///     is written, and the outcome says so.
  @inline(__always)
  func put(
    _ key: CacheKey, header: RecordHeader, payload: ByteView, through transforms: ValueTransforms,
    by observer: (any DiskStoreObserver)?, draft: ValueDraft? = nil, if condition: (() -> Bool)? = nil
  ) throws(CacheError) -> WriteOutcome {
    guard !transforms.isEmpty, let bytes = try transformed(payload, transforms, key, header, draft) else {
      return try putAsIs(key, header: header, payload: payload, by: observer, draft: draft, if: condition)
    }
    var header = header
    header.flags.insert(.transformed)
    return try bytes.withBytes { (bytes) throws(CacheError) in
      try putAsIs(key, header: header, payload: bytes, by: observer, draft: draft, if: condition)
    }
  }

  @inline(__always)
  func putAsIs(
    _ key: CacheKey, header: RecordHeader, payload: ByteView, by observer: (any DiskStoreObserver)?,
    draft: ValueDraft? = nil, if condition: (() -> Bool)?
  ) throws(CacheError) -> WriteOutcome {
    try admit(.key(key.utf8))
    if payload.count > inlineThreshold {
      return try putSeparately(key, header: header, payload: payload, by: observer, draft, if: condition)
    }
    return try putInline(key, header: header, payload: payload, by: observer, if: condition)
  }

  /// Applies the transforms, once for a draft.
  func transformed(
    _ payload: ByteView, _ transforms: ValueTransforms, _ key: CacheKey, _ header: RecordHeader, _ draft: ValueDraft?
  ) throws(CacheError) -> Data? {
    guard let draft else { return try transforms.apply(to: payload, header, key) }
    return try draft.transformed(for: header) { () throws(CacheError) in
      try transforms.apply(to: payload, header, key)
    }
  }

  private func putInline(
    _ key: CacheKey, header: RecordHeader, payload: ByteView, by observer: (any DiskStoreObserver)?,
    if condition: (() -> Bool)?
  ) throws(CacheError) -> WriteOutcome {
    let prepared = PreparedPut(key, header, payload)
    let outcome = try append(size: prepared.frameSize, if: condition) { segment in
      let stamp = journal.state.stamps.next(clock)
      journal.state.writes.sets &+= 1
      observers.announce(key.string, prepared.hash, stamp)
      prepared.append(to: segment, stamp: stamp, flags: [])
      return stamp
    }
    if !outcome.isRefused { didChange(key, outcome.stamp, by: observer) }
    return outcome
  }

  private func putSeparately(
    _ key: CacheKey, header: RecordHeader, payload: ByteView, by observer: (any DiskStoreObserver)?,
    _ draft: ValueDraft?, if condition: (() -> Bool)?
  ) throws(CacheError) -> WriteOutcome {
    let value: AppendedValue
    do throws(CacheError) {
      value = try appended(payload, key, draft)
    } catch {
      guard error.code != .closed, payload.count < Journal.memorySegmentSize else { throw error }
      // On a full disk, the journal may still take it.
      journal.lock.withLock { journal.noteFileFailure(error) }
      return try putInline(key, header: header, payload: payload, by: observer, if: condition)
    }
    defer { if draft == nil { value.end() } }
    return try value.pointer.withBytes { (pointer) throws(CacheError) in
      try putInline(key, header: header.referring, payload: pointer, by: observer, if: condition)
    }
  }

  /// Appends a value to the value log, once for a draft.
  func appended(_ payload: ByteView, _ key: CacheKey, _ draft: ValueDraft?) throws(CacheError) -> AppendedValue {
    if let value = draft?.appended { return value }
    let value = try appendValue(payload, key: key)
    draft?.appended = value
    return value
  }

  func appendValue(_ payload: ByteView, key: CacheKey, isAwaited: Bool = false) throws(CacheError) -> AppendedValue {
    try appending("Writing the value of \(quoted(key.string))") { (owner) throws(SystemError) in
      try database.databaseKey.withDatabaseKey(key.utf8) { (key) throws(SystemError) in
        try values.append(payload, key: key, owner: owner, isAwaited: isAwaited)
      }
    }
  }

  /// Calls `body` with the journal's identifier to append to the value log. The journal owns the segment, so it comes
  /// first. `body` may run twice.
  func appending<R>(
    _ activity: @autoclosure () -> String, isRetrying: Bool = false, _ body: (UInt64) throws(SystemError) -> R
  ) throws(CacheError) -> R {
    if !journal.hasBegun.load(ordering: .relaxed) { prepareJournal() }
    let owner = try journal.lock.withLock { () throws(CacheError) -> UInt64 in
      if journal.state.gate.isClosed { throw .closed }
      journal.makeFileIfNeeded()
      return journal.state.identifier
    }
    do throws(SystemError) {
      return try body(owner)
    } catch {
      // Closed since the gate was checked.
      if error.errno == ValueLog.errnoOfClosed { throw .closed }
      let failure = CacheError(error, during: activity())
      // The directory was deleted: recreate its files, then retry.
      guard error.errno == ENOENT, !isRetrying else { throw failure }
      try writer.run { [place] in try place.bringFilesIntoPlace() }
      return try appending(activity(), isRetrying: true, body)
    }
  }

  /// Before the first write: if the directory was deleted since it was opened, no file can be created in it.
  private func prepareJournal() {
    // If that fails, the journal begins in memory, and the next commit tries again.
    _ = outcome { () throws(CacheError) in
      let isDeleted = try calling("Making the journal in \(directory)") {
        try CacheDirectory(place.directory).isDeleted()
      }
      if isDeleted { try writer.run { [place] in try place.bringFilesIntoPlace() } }
    }
  }

  func remove(
    _ key: CacheKey, by observer: (any DiskStoreObserver)?, if condition: (() -> Bool)? = nil
  ) throws(CacheError) -> WriteOutcome {
    try admit(.key(key.utf8))
    try Self.checkLength(ofKey: key.utf8.count)
    let size = JournalFrame.size(keyLength: key.utf8.count, recordLength: 0)
    let hash = key.hash
    let outcome = try append(size: size, if: condition) { segment in
      let stamp = journal.state.stamps.next(clock)
      journal.state.writes.removals &+= 1
      observers.announce(key.string, hash, stamp)
      segment.remove(key: key.utf8, hash: hash, stamp: stamp, flags: [])
      return stamp
    }
    if !outcome.isRefused { didChange(key, outcome.stamp, by: observer) }
    return outcome
  }

  func removeAll(withPrefix prefix: String?, by observer: (any DiskStoreObserver)?) throws(CacheError) -> WriteOutcome {
    var isAnnounced = false
    var isDiskFull = false
    defer { if isAnnounced { database.tracker.endRemoval() } }
    var outcome = try withUTF8Bytes(of: prefix ?? "") { (utf8) throws(CacheError) in
      try Self.checkLength(ofKey: utf8.count)
      let size = JournalFrame.size(keyLength: utf8.count, recordLength: 0)
      let scope: KeyScope = prefix == nil ? .everything : .prefix(utf8)
      try admit(scope)
      return try append(size: size, isOfMany: true) { segment in
        isDiskFull = journal.failure?.isOfFullDisk ?? false
        let stamp = journal.state.stamps.next(clock)
        journal.state.writes.removals &+= 1
        database.tracker.beginRemoval()
        isAnnounced = true
        observers.announceAll(scope, stamp)
        if prefix == nil {
          segment.removeAll(stamp: stamp, flags: [])
        } else {
          segment.removeAll(prefix: utf8, stamp: stamp, flags: [])
        }
        return stamp
      }
    }
    for observer in observers.all { observer.didRemoveAll(withPrefix: prefix ?? "", stamp: outcome.stamp) }
    feed.noteRemoval(ofAll: prefix ?? "", stamp: outcome.stamp, lastStamp: outcome.stamp)
    isDiskFull = isDiskFull || outcome.failure?.isOfFullDisk ?? false
    if isDiskFull, !journal.isWriterThread {
      // If that fails, the removal is committed when there is room.
      do throws(CacheError) {
        try commitOnFullDisk()
        outcome.failure = nil
      } catch {}
    }
    return outcome
  }

  // MARK: The common part

  /// See ``ConditionalWrites/admit(_:)``. The writer thread does not wait.
  @inline(__always)
  func admit(_ scope: @autoclosure () -> KeyScope) throws(CacheError) {
    if observers.conditional.isGuarded, !journal.isWriterThread { try observers.conditional.admit(scope()) }
  }

  /// Notifies all observers except the writer, which notifies itself once its memory tier has the value.
  func didChange(_ key: CacheKey, _ stamp: UInt64, by writer: (any DiskStoreObserver)?) {
    // In the common case the writer is the only observer.
    if observers.count.load(ordering: .acquiring) > (writer == nil ? 0 : 1) {
      for observer in observers.all where observer !== writer {
        observer.didChange(key.string, hash: key.hash, stamp: stamp)
      }
    }
    if writer == nil { feed.noteChange(key, stamp) }
  }

  /// Appends to the journal. Waits for the commit if the write is too large for the journal, and in
  /// ``Durability/full``.
  @inline(__always)
  func append(
    size: Int, isOfMany: Bool = false, if condition: (() -> Bool)? = nil, large: (() -> JournalSegment)? = nil,
    body: (JournalSegment) -> UInt64
  ) throws(CacheError) -> WriteOutcome {
    if !journal.hasBegun.load(ordering: .relaxed) { prepareJournal() }
    var (stamp, position): (UInt64, UInt64) = (0, 0)
    let appended = try journal.append(size: size, isOfMany: isOfMany, if: condition, large: large) { segment in
      stamp = body(segment)
      position = database.foreignPosition
    }
    guard let appended else { return WriteOutcome(stamp: 0, isRefused: true) }
    var outcome = WriteOutcome(stamp: stamp, validated: position)
    if appended.isAlone || durability == .full {
      do throws(CacheError) { try journal.waitForCommit(of: appended.number) } catch { outcome.failure = error }
    }
    return outcome
  }
}

extension DiskStore {
  /// Removes every entry with one of the tags, at once for this process and in one commit for others. Upkeep deletes
  /// the hidden records later.
  func removeAll(tags hashes: [UInt64]) throws(CacheError) {
    if hashes.isEmpty { return }
    let batch = BatchFrames(isAwaited: durability == .full)
    for hash in hashes { batch.removeAll(tag: hash) }
    try write(batch, waitsForCommit: false)
  }
}

extension DiskStore {
  /// The header for a new record; its stamp is set later.
  ///
  /// - Parameter expires: Nanoseconds since 1970, or 0 for never.
  @inline(__always)
  func header(
    for key: CacheKey, _ format: ArchiveFormat, _ bytes: ByteView, expires: Int64, cost: Int?
  ) throws(CacheError) -> RecordHeader {
    if let cost, cost < 0 { throw CacheError(.invalidArgument, "A cost is not negative; \(cost) is.") }
    try Self.checkLengths(key.string, key.utf8.count, bytes.count)
    return RecordHeader(
      format: format, expires: expires, now: RecordHeader.seconds(clock.coarseNow),
      cost: cost ?? key.utf8.count + bytes.count)
  }

  func expiry(after duration: Duration) -> Int64 {
    let (sum, overflow) = clock.now.addingReportingOverflow(max(0, duration.clampedNanoseconds))
    // 0 means never.
    return overflow ? .max : sum == 0 ? 1 : sum
  }

  static let maximumKeyLength = 16 << 20

  static func checkLength(ofKey count: Int) throws(CacheError) {
    if count > maximumKeyLength {
      throw CacheError(
        .invalidArgument,
        "A key has at most 16 MiB of UTF-8, not \(count) bytes. Use a hash of what identifies the value.")
    }
  }

  @inline(__always)
  static func checkLengths(_ key: @autoclosure () -> String, _ keyLength: Int, _ valueLength: Int) throws(CacheError) {
    try checkLength(ofKey: keyLength)
    if valueLength >= 1 << 32 {
      throw CacheError(
        .invalidArgument,
        "A value has less than 4 GiB, and that of \(quoted(key())) has \(valueLength) bytes. Store it in parts.")
    }
  }
}
