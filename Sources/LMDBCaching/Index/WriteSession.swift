import LMDB
import Platform

/// A write transaction on the entries. Every change goes through it (commits, replays, trims), and updates the metadata
/// and the value log usage.
struct WriteSession: ~Copyable {
  let txn: WriteTransaction
  var metadata: CacheMetadata
  /// The last `removeAll` of other processes when the transaction began.
  let foreignClearStamp: UInt64
  /// The change in each value segment's usage.
  private var usage: [UInt64: SegmentUsage] = [:]
  /// The prefixes of removals, even of those that matched nothing.
  private var removedPrefixes: [[UInt8]] = []
  private let databaseKey: DatabaseKey
  private let environment: Environment

  /// - Parameter environment: Its files must be in place (``EntryDatabase/transact(_:makingRoom:_:)``).
  init(_ environment: Environment, _ databaseKey: DatabaseKey) throws(LMDBError) {
    self.environment = environment
    self.databaseKey = databaseKey
    let txn = try environment.beginWrite()
    metadata = try EntryDatabase.metadata(txn)
    self.txn = txn
    foreignClearStamp = metadata.clearStamp
  }

  /// The position that the transaction will have (``TransactionTracker``).
  var position: UInt64 { environment.position(of: txn) }

  /// Inserts or replaces a record.
  mutating func put(_ record: ByteView, forKey key: ByteView) throws(LMDBError) {
    _ = try putUnlessRemoved(record, forKey: key)
  }

  /// Inserts or replaces a record. Returns `false` if one of its tags was removed after it was written; only a later
  /// record then remains under the key.
  mutating func putUnlessRemoved(_ record: ByteView, forKey key: ByteView) throws(LMDBError) -> Bool {
    guard let header = RecordHeader(record) else { return true }
    if header.hasTags, try isRemovedOrForgotten(header) {
      // Another process may have committed a later write first, which the removal does not cover.
      _ = try remove(key, of: nil) { $0.stamp < header.stamp }
      return false
    }
    var old: RecordHeader?
    var oldPointer: ValuePointer?
    var oldDigest: UInt64 = 0
    _ = try unsafe txn.upsert(
      forKey: key.buffer, size: record.count,
      existing: { bytes in
        let bytes = unsafe ByteView(bytes)
        old = RecordHeader(bytes)
        oldDigest = RecordHeader.digest(of: bytes)
        oldPointer = ValuePointer(in: bytes, old)
        return true
      },
      fill: { unsafe MutableByteView($0).copy(record) })
    if let old { metadata.subtract(old) } else if oldDigest != 0 { metadata.subtractUnreadable() }
    if let oldPointer { release(oldPointer, key) }
    if let pointer = ValuePointer(in: record, header) { use(pointer, key) }
    metadata.add(header)
    metadata.replace(oldDigest, by: RecordHeader.digest(of: record))
    metadata.lastStamp = max(metadata.lastStamp, header.stamp)
    return true
  }

  /// Removes a record if `condition` holds for it; returns whether it did.
  ///
  /// - Parameter cacheKey: The key that must own the record, because a digest may be another key's; `nil` accepts any.
  mutating func remove(
    _ key: ByteView, of cacheKey: ByteView?,
    where condition: (RecordHeader) -> Bool = { _ in true }
  ) throws(LMDBError) -> Bool {
    var old: RecordHeader?
    var oldPointer: ValuePointer?
    var oldDigest: UInt64 = 0
    try txn.withValue(forKey: key) { bytes in
      old = RecordHeader(bytes)
      oldDigest = RecordHeader.digest(of: bytes)
      if let header = old, let cacheKey, !header.belongs(to: cacheKey, in: bytes) { old = nil }
      oldPointer = ValuePointer(in: bytes, old)
    }
    guard let old, condition(old), try txn.remove(forKey: key) else { return false }
    metadata.subtract(old)
    metadata.replace(oldDigest, by: 0)
    if let oldPointer { release(oldPointer, key) }
    return true
  }

  /// Removes records of sorted keys for which `condition` holds.
  ///
  /// - Parameters:
  ///   - count: The maximum number to remove, and `bytes` their approximate total size.
  ///   - condition: Its entry is valid only during the call.
  /// - Returns: The index of the first key not reached.
  mutating func remove(
    _ keys: PackedKeys, from start: Int, count: Int, bytes: Int, where condition: (Cursor.Entry) -> Bool
  ) throws(LMDBError) -> Int {
    var changed = metadata
    var released: [(ValuePointer, keyLength: Int)] = []
    let end = try txn.withCursor { (cursor) throws(LMDBError) -> Int in
      var (index, removed, size) = (start, 0, 0)
      while index < keys.count, removed < count, size < bytes {
        try keys.withKey(index) { (key) throws(LMDBError) in
          guard let entry = try cursor.seek(toKeyAtOrAfter: key), entry.keyBytes.elementsEqual(fast: key),
            condition(entry)
          else { return }
          let value = entry.valueBytes
          let header = RecordHeader(value)
          if let header { changed.subtract(header) } else { changed.subtractUnreadable() }
          changed.replace(RecordHeader.digest(of: value), by: 0)
          if let pointer = ValuePointer(in: value, header) { released.append((pointer, key.count)) }
          removed += 1
          size += value.count
          try cursor.remove()
        }
        index += 1
      }
      return index
    }
    metadata = changed
    for (pointer, keyLength) in released {
      usage[pointer.segment, default: .init()].subtract(pointer, keyLength: keyLength)
    }
    return end
  }

  func header(forKey key: ByteView) throws(LMDBError) -> RecordHeader? {
    try txn.withValue(forKey: key) { RecordHeader($0) } ?? nil
  }

  /// The stamp of the record under a key, or 0 if it is missing or expired.
  ///
  /// - Parameter unreadable: Makes the error for a record without a header of this version.
  func stamp(
    _ databaseKey: ByteView, of cacheKey: ByteView, at now: Int64, unreadable: (ByteView) -> CacheError
  ) throws(LMDBError) -> Result<UInt64, CacheError> {
    try txn.withValue(forKey: databaseKey) { (bytes) throws(LMDBError) -> Result<UInt64, CacheError> in
      guard let header = RecordHeader(bytes) else { return .failure(unreadable(bytes)) }
      guard header.belongs(to: cacheKey, in: bytes), !header.isExpired(at: now),
        try !EntryDatabase.isRemoved(header, in: txn)
      else {
        return .success(0)
      }
      return .success(header.stamp)
    } ?? .success(0)
  }

  /// Changes a record's expiry. Returns `false` if it is missing or damaged.
  mutating func setExpiry(
    _ databaseKey: ByteView, of key: CacheKey, expires: Int64, stamp: UInt64
  ) throws(LMDBError) -> Bool {
    let changed = try txn.withValue(forKey: databaseKey) { bytes -> [UInt8]? in
      guard var header = RecordHeader(bytes), header.belongs(to: key.utf8, in: bytes),
        header.isIntact(bytes, key: key.utf8)
      else { return nil }
      let payload = header.payload(of: bytes)
      header.move(toExpiry: expires)
      header.isTransacted = true
      return PreparedPut(key, header, payload).record(stamp: stamp)
    }
    guard case .some(.some(let changed)) = changed else { return false }
    try changed.withBytes { (record) throws(LMDBError) in try put(record, forKey: databaseKey) }
    return true
  }

  /// Updates only a record's last access (``RecordHeader/noteAccess(_:generation:)``).
  mutating func touch(_ key: CacheKey, lastAccess: UInt32, generation: UInt32) throws(LMDBError) {
    try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) in
      _ = try rewrite(databaseKey, of: key.utf8, if: { header, _ in header.lastAccess < lastAccess }) { header, _ in
        header.noteAccess(lastAccess, generation: generation)
      }
    }
  }

  /// Redirects a record to a value's copy, if it still refers to the value.
  mutating func move(_ databaseKey: ByteView, from old: ValuePointer, to new: ValuePointer) throws(LMDBError) {
    let isMoved = try rewrite(
      databaseKey, if: { header, payload in header.flags.contains(.pointer) && ValuePointer(payload) == old },
      change: { _, payload in new.write(to: payload) })
    guard isMoved else { return }
    release(old, databaseKey)
    use(new, databaseKey)
  }

  /// Rewrites an intact record in place, at its present length. Returns whether it did.
  ///
  /// - Parameter cacheKey: The key that must own the record, because a digest may be another key's; `nil` accepts any.
  private mutating func rewrite(
    _ databaseKey: ByteView, of cacheKey: ByteView? = nil, if condition: (RecordHeader, ByteView) -> Bool,
    change: (inout RecordHeader, MutableByteView) -> Void
  ) throws(LMDBError) -> Bool {
    var oldDigest: UInt64 = 0
    let rewritten = try txn.withValue(forKey: databaseKey) { bytes -> [UInt8]? in
      guard var header = RecordHeader(bytes), condition(header, header.payload(of: bytes)),
        let key = DatabaseKey.key(ofDatabaseKey: databaseKey, record: bytes, header: header),
        cacheKey.map({ key.elementsEqual(fast: $0) }) ?? true, header.isIntact(bytes, key: key)
      else { return nil }
      oldDigest = RecordHeader.digest(of: bytes)
      var record = Array(bytes)
      record.withMutableBytes { record in
        let payload = record[header.payloadOffset...]
        // It remains the same write.
        header.isTransacted = header.wasTransacted
        change(&header, payload)
        header.write(
          to: record, keyHash: RecordHeader.keyHash(key),
          payloadHash: RecordHeader.payloadHash(ByteView(payload)))
      }
      return record
    }
    guard case .some(.some(let rewritten)) = rewritten else { return false }
    try rewritten.withBytes { (record) throws(LMDBError) in
      metadata.replace(oldDigest, by: RecordHeader.digest(of: record))
      try txn.put(record, forKey: databaseKey)
    }
    return true
  }

  mutating func removeAll(
    withPrefix prefix: ByteView, where condition: (RecordHeader) -> Bool = { _ in true }
  ) throws(LMDBError) {
    removedPrefixes.append(Array(prefix))
    var removed: [(RecordHeader, UInt64, ValuePointer?, keyLength: Int)] = []
    try txn.withCursor { (cursor) throws(LMDBError) in
      for range in KeyRange.ranges(ofPrefix: prefix) {
        var position = try range.first(cursor)
        while let (databaseKey, record) = position.map({ ($0.keyBytes, $0.valueBytes) }), range.contains(databaseKey) {
          if let header = RecordHeader(record),
            let key = DatabaseKey.key(ofDatabaseKey: databaseKey, record: record, header: header),
            key.hasPrefix(prefix), condition(header)
          {
            removed.append(
              (header, RecordHeader.digest(of: record), ValuePointer(in: record, header), databaseKey.count))
            try cursor.remove()
            // LMDB leaves the cursor on the next entry.
            position = try cursor.current() ?? nil
            continue
          }
          position = try cursor.next()
        }
      }
    }
    for (header, digest, pointer, keyLength) in removed {
      metadata.subtract(header)
      metadata.replace(digest, by: 0)
      if let pointer { usage[pointer.segment, default: .init()].subtract(pointer, keyLength: keyLength) }
    }
  }

  /// Removes every entry, whole pages at a time, including other processes' uncommitted writes from before `stamp`.
  mutating func removeAll(stamp: UInt64) throws(LMDBError) {
    try forgetTags(upTo: stamp, limit: .max)
    try removeAllEntries()
    metadata.clearStamp = max(metadata.clearStamp, stamp)
    metadata.lastStamp = max(metadata.lastStamp, stamp)
  }

  /// Removes every committed entry, whole pages at a time.
  mutating func removeAllEntries() throws(LMDBError) {
    let kept =
      try committedStamps() + records(withPrefix: TagStatus.key)
      + records(withPrefix: PrefixRemovals.key).filter { $0.key == PrefixRemovals.key }
    try txn.removeAll()
    for (key, value) in kept { try txn.put(value, key) }
    metadata.count = 0
    metadata.cost = 0
    metadata.expiring = 0
    metadata.digest = 0
    // The stored usage was removed too.
    usage = [:]
  }

  // MARK: What is in use of the value log

  private mutating func use(_ pointer: ValuePointer, _ key: ByteView) {
    usage[pointer.segment, default: .init()].add(pointer, keyLength: key.count)
  }

  private mutating func release(_ pointer: ValuePointer, _ key: ByteView) {
    usage[pointer.segment, default: .init()].subtract(pointer, keyLength: key.count)
  }

  private func writeUsage() throws(LMDBError) {
    for (segment, change) in usage where change != SegmentUsage() {
      let key = SegmentUsage.key(segment)
      let usage = try (txn.value(key) { SegmentUsage($0) } ?? SegmentUsage()) + change
      if usage.count <= 0 { try txn.remove(key) } else { try txn.put(usage.stored, key) }
    }
  }

  // MARK: Up to which stamp a journal is in the database

  static func committedStampKey(_ journal: UInt64) -> [UInt8] {
    [DatabaseKey.reservedMarker, UInt8(ascii: "j")] + journal.bigEndian.bytes
  }

  func committedStamp(ofJournal journal: UInt64) throws(LMDBError) -> UInt64 {
    try txn.value(Self.committedStampKey(journal)) { $0.count == 8 ? $0.load(as: UInt64.self) : 0 } ?? 0
  }

  func setCommittedStamp(_ stamp: UInt64, ofJournal journal: UInt64) throws(LMDBError) {
    try Self.setCommittedStamp(stamp, ofJournal: journal, txn)
  }

  static func setCommittedStamp(
    _ stamp: UInt64, ofJournal journal: UInt64, _ txn: borrowing WriteTransaction
  ) throws(LMDBError) {
    try txn.put(stamp.littleEndian.bytes, committedStampKey(journal))
  }

  func removeCommittedStamp(ofJournal journal: UInt64) throws(LMDBError) {
    try txn.remove(Self.committedStampKey(journal))
  }

  func journalsWithCommittedStamp() throws(LMDBError) -> [UInt64] {
    try committedStamps().map {
      $0.key.withBytes { $0.load(2, as: UInt64.self).byteSwapped }
    }
  }

  private func committedStamps() throws(LMDBError) -> [(key: [UInt8], value: [UInt8])] {
    try records(withPrefix: [DatabaseKey.reservedMarker, UInt8(ascii: "j")]).filter { $0.key.count == 10 }
  }

  /// The cache's internal records whose keys start with `prefix`.
  func records(withPrefix prefix: [UInt8]) throws(LMDBError) -> [(key: [UInt8], value: [UInt8])] {
    var found: [(key: [UInt8], value: [UInt8])] = []
    try txn.forEach(withPrefix: prefix) { found.append((Array($0.keyBytes), Array($0.valueBytes))) }
    return found
  }

  // MARK: Ending

  consuming func commit(_ tracker: TransactionTracker) throws(LMDBError) {
    if !removedPrefixes.isEmpty {
      var removals = try txn.value(PrefixRemovals.key) { PrefixRemovals($0) } ?? PrefixRemovals()
      removals.note(removedPrefixes, stamp: metadata.lastStamp)
      try txn.put(removals.stored, PrefixRemovals.key)
    }
    try EntryDatabase.write(metadata, txn)
    try writeUsage()
    let position = position
    tracker.willCommit(position)
    do throws(LMDBError) {
      try txn.commit()
    } catch {
      tracker.didNotCommit(position)
      throw error
    }
  }

  consuming func abort() { txn.abort() }
}
