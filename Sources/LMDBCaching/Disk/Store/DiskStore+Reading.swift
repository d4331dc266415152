import Foundation
import LMDB
import Synchronization

extension DiskStore {
  /// The value under `key`, its record's header, and the transaction it was read in; nil: absent or expired.
  ///
  /// - Parameter body: Gets the value's bytes, a private copy that is valid in it only.
  func read<R>(
    _ key: CacheKey, _ body: (StoredRecord<UnsafeRawBufferPointer>) throws(CacheError) -> R
  ) throws(CacheError) -> R? {
    // Most values fit on the stack; the copy of a longer one is allocated.
    try withStackBytes(1024) { (scratch) throws(CacheError) -> R? in
      let found = try copyRecord(key) { payload -> CopiedPayload in
        if payload.count > scratch.count { return .allocated(Data(payload)) }
        scratch.copyMemory(from: payload)
        return .onStack(payload.count)
      }
      guard let found else { return nil }
      switch found.payload {
      case .onStack(let count):
        let bytes = UnsafeRawBufferPointer(rebasing: scratch[..<count])
        guard let record = try verified(found, bytes, key) else { return nil }
        if record.header.flags.isDisjoint(with: [.file, .transformed]) { return try body(record) }
        guard let value = try value(of: record, key) else {
          return try isReplaced(record.header, key) ? read(key, body) : nil
        }
        return try value.withBytes { (bytes) throws(CacheError) in try body(record.replacingPayload(with: bytes)) }
      case .allocated(let data):
        return try data.withBytes { (bytes) throws(CacheError) -> R? in
          guard let record = try verified(found, bytes, key) else { return nil }
          guard record.header.flags.contains(.transformed) else { return try body(record) }
          return try value(of: record, key)?.withBytes { (bytes) throws(CacheError) in
            try body(record.replacingPayload(with: bytes))
          }
        }
      }
    }
  }

  /// The value of a `Data` entry without a second copy; any other format is nil in `data`.
  func readData(_ key: CacheKey) throws(CacheError) -> StoredRecord<Data>? {
    guard let found = try copyRecord(key, copy: { Data($0) }) else { return nil }
    return try found.payload.withBytes { (bytes) throws(CacheError) -> StoredRecord<Data>? in
      guard let record = try verified(found, bytes, key) else { return nil }
      if record.header.flags.isDisjoint(with: [.file, .transformed]) { return found }
      guard let value = try value(of: record, key) else {
        return try isReplaced(record.header, key) ? readData(key) : nil
      }
      return record.replacingPayload(with: value)
    }
  }

  /// Whether a value's file is gone since the entry was written anew: there is a value, and it is to be read.
  private func isReplaced(_ header: RecordHeader, _ key: CacheKey) throws(CacheError) -> Bool {
    guard header.flags.contains(.file), let current = try self.header(key) else { return false }
    return current.header.stamp != header.stamp
  }

  private enum CopiedPayload {
    case onStack(Int)
    case allocated(Data)
  }

  /// Holds the copy against the checksum, then looks at the expiry and notes the access.
  @inline(__always)
  private func verified<P>(
    _ found: StoredRecord<P>, _ payload: UnsafeRawBufferPointer, _ key: CacheKey
  ) throws(CacheError) -> StoredRecord<UnsafeRawBufferPointer>? {
    guard found.header.isIntact(headerHash: found.headerHash, payload: payload) else { throw corrupted(key.string) }
    if found.header.expires != 0, found.header.isExpired(at: clock.now) {
      counters.misses.increment()
      return nil
    }
    recency.note(key.string, recorded: found.header.lastAccess, now: Self.seconds(clock.coarseNow))
    counters.hits.increment()
    return StoredRecord(header: found.header, headerHash: 0, payload: payload, validated: found.validated)
  }

  /// Finds the newest record of `key`, in the journal or in the database, and copies its payload.
  @inline(__always)
  private func copyRecord<P>(
    _ key: CacheKey, copy: (UnsafeRawBufferPointer) -> P
  ) throws(CacheError) -> StoredRecord<P>? {
    var found: Result<StoredRecord<P>?, CacheError>?
    if hasPending.load(ordering: .acquiring) {
      found = try withPendingRecord(key) { record, validated in
        outcome { () throws(CacheError) in try self.record(record, key, validated, copy) }
      }
    }
    if found == nil {
      found = try trusting("Reading \(quoted(key.string))") { () throws(LMDBError) in
        try environment.withReadTransaction { (txn) throws(LMDBError) in try stored(key, in: txn, copy) }
      }
    }
    let record = try found!.get()
    if record == nil { counters.misses.increment() }
    return record
  }

  @inline(__always)
  private func stored<P>(
    _ key: CacheKey, in txn: borrowing ReadTransaction, _ copy: (UnsafeRawBufferPointer) -> P
  ) throws(LMDBError) -> Result<StoredRecord<P>?, CacheError> {
    let id = environment.position(of: txn)
    return try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) in
      try txn.withValue(forKey: databaseKey) { bytes in
        outcome { () throws(CacheError) in try record(bytes, key, id, copy) }
      } ?? .success(nil)
    }
  }

  /// Takes a record apart; nil: it is another key's that has the same digest.
  @inline(__always)
  private func record<P>(
    _ bytes: UnsafeRawBufferPointer, _ key: CacheKey, _ validated: UInt64, _ copy: (UnsafeRawBufferPointer) -> P
  ) throws(CacheError) -> StoredRecord<P>? {
    guard let header = RecordHeader(bytes) else { throw unreadable(bytes, key.string) }
    guard header.belongs(to: key.utf8, in: bytes) else { return nil }
    return StoredRecord(
      header: header, headerHash: header.headerHash(bytes, key: key.utf8), payload: copy(header.payload(of: bytes)),
      validated: validated)
  }

  /// Calls `body` with the record of a write that is not committed; nil: there is none, look into the database.
  /// `.success(nil)`: removed.
  @inline(__always)
  private func withPendingRecord<R>(
    _ key: CacheKey, _ body: (UnsafeRawBufferPointer, UInt64) -> Result<R?, CacheError>
  ) throws(CacheError) -> Result<R?, CacheError>? {
    lock.lock()
    defer { lock.unlock() }
    if state.isClosed { throw .closed }
    let epoch = foreignEpoch
    switch pendingRecord(key, epoch: epoch) {
    case .unknown: return nil
    case .removed: return .success(nil)
    case .found(let frame): return body(frame.record, epoch)
    }
  }

  /// What the segments that are not committed say of `key`, newest first. With the lock held.
  ///
  /// - Parameter epoch: ``foreignEpoch``, loaded before.
  func pendingRecord(_ key: CacheKey, epoch: UInt64) -> JournalSegment.Lookup {
    let lookup = segmentRecord(key, epoch)
    if state.unrecorded.isEmpty { return lookup }
    let stale = state.unrecorded.stamp(of: key.utf8)
    if stale == 0 { return lookup }
    if case .found(let frame) = lookup, frame.stamp > stale { return lookup }
    return .removed
  }

  @inline(__always)
  private func segmentRecord(_ key: CacheKey, _ epoch: UInt64) -> JournalSegment.Lookup {
    let hash = key.hash
    if let active = state.active {
      let lookup = active.lookup(key.utf8, hash: hash)
      if case .unknown = lookup {} else { return lookup }
    }
    if state.sealed.isEmpty { return .unknown }
    // Where another process has committed after them, those that are being committed are in the database, although the
    // writer thread has not said so yet; and what is there may be newer.
    let transaction = committingTransaction.load(ordering: .acquiring)
    let committed = transaction != 0 && epoch > transaction ? state.committingNumber : 0
    for segment in state.sealed.reversed() where segment.number > committed {
      let lookup = segment.lookup(key.utf8, hash: hash)
      if case .unknown = lookup {} else { return lookup }
    }
    return .unknown
  }

  /// Whether the newest value under `key` is with the memory tier only, since it could not be recorded.
  func isMemoryOnly(_ key: CacheKey) -> Bool {
    guard hasPending.load(ordering: .acquiring) else { return false }
    return lock.withLock {
      guard !state.unrecorded.isEmpty, state.unrecorded.stamp(of: key.utf8) != 0 else { return false }
      if case .found = pendingRecord(key, epoch: foreignEpoch) { return false }
      return true
    }
  }

  /// The header under `key` without its value, and the transaction it was read in; the checksum is not looked at.
  func header(_ key: CacheKey) throws(CacheError) -> (header: RecordHeader, validated: UInt64)? {
    if hasPending.load(ordering: .acquiring) {
      let pending = try withPendingRecord(key) { record, validated in
        .success(RecordHeader(record).map { ($0, validated) })
      }
      if let pending { return try pending.get() }
    }
    return try trusting("Reading \(quoted(key.string))") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        let id = environment.position(of: txn)
        return try storedHeader(key, in: txn).map { ($0, id) }
      }
    }
  }

  private func storedHeader(
    _ key: CacheKey, in txn: borrowing ReadTransaction
  ) throws(LMDBError) -> RecordHeader? {
    try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) in
      try txn.withValue(forKey: databaseKey) { bytes -> RecordHeader? in
        guard let header = RecordHeader(bytes), header.belongs(to: key.utf8, in: bytes) else { return nil }
        return header
      } ?? nil
    }
  }

  // MARK: In a snapshot

  func header(_ key: CacheKey, in txn: borrowing ReadTransaction) throws(CacheError) -> RecordHeader? {
    try trusting("Reading \(quoted(key.string))") { () throws(LMDBError) in try storedHeader(key, in: txn) }
  }

  /// The record as of a snapshot, without counting an access.
  func readData(_ key: CacheKey, in txn: borrowing ReadTransaction) throws(CacheError) -> StoredRecord<Data>? {
    let found = try trusting("Reading \(quoted(key.string))") { () throws(LMDBError) in
      try stored(key, in: txn) { Data($0) }
    }
    guard let record = try found.get() else { return nil }
    return try record.payload.withBytes { (bytes) throws(CacheError) -> StoredRecord<Data>? in
      guard record.header.isIntact(headerHash: record.headerHash, payload: bytes) else { throw corrupted(key.string) }
      if record.header.isExpired(at: clock.now) { return nil }
      if record.header.flags.isDisjoint(with: [.file, .transformed]) { return record }
      return try value(of: record.replacingPayload(with: bytes), key).map { record.replacingPayload(with: $0) }
    }
  }

  /// Calls `body`, once at most, with the value's bytes where they lie: in the map, without a copy, if they are
  /// committed.
  func borrowBytes(_ key: CacheKey, _ body: (RawSpan) -> Void) throws(CacheError) {
    var isElsewhere = hasPending.load(ordering: .acquiring)
    if isElsewhere {
      // A pending record moves when it is committed, and must be copied under the lock.
      let pending = try withPendingRecord(key) { _, _ in .success(()) }
      isElsewhere = pending != nil
    }
    var isFound = false
    if !isElsewhere {
      let failure = try trusting("Reading \(quoted(key.string))") { () throws(LMDBError) in
        try environment.withReadTransaction { (txn) throws(LMDBError) -> CacheError? in
          try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) -> CacheError? in
            try txn.withValue(forKey: databaseKey) { bytes -> CacheError? in
              guard let header = RecordHeader(bytes), header.keyLength == 0,
                header.flags.isDisjoint(with: [.file, .transformed])
              else {
                isElsewhere = true
                return nil
              }
              guard header.isIntact(bytes, key: key.utf8) else { return corrupted(key.string) }
              if header.expires != 0, header.isExpired(at: clock.now) { return nil }
              recency.note(key.string, recorded: header.lastAccess, now: Self.seconds(clock.coarseNow))
              isFound = true
              body(header.payload(of: bytes).bytes)
              return nil
            } ?? nil
          }
        }
      }
      if let failure { throw failure }
    }
    if isElsewhere {
      // Copied: it is pending, in a file, transformed, or under a digest. The copy counts itself.
      if let record = try readData(key) { record.payload.withUnsafeBytes { body($0.bytes) } }
    } else if isFound {
      counters.hits.increment()
    } else {
      counters.misses.increment()
    }
  }

  /// The value of a record that is in a file, or transformed, or both; nil: its file is gone.
  private func value(of record: StoredRecord<UnsafeRawBufferPointer>, _ key: CacheKey) throws(CacheError) -> Data? {
    guard record.header.flags.contains(.file) else {
      return try transforms.restore(record.payload, record.header, key)
    }
    guard let contents = try fileContents(record, key) else { return nil }
    guard record.header.flags.contains(.transformed) else { return contents }
    return try contents.withBytes { (bytes) throws(CacheError) in try transforms.restore(bytes, record.header, key) }
  }

  private func fileContents(
    _ record: StoredRecord<UnsafeRawBufferPointer>, _ key: CacheKey
  ) throws(CacheError) -> Data? {
    let contents = try calling("Reading the value file of \(quoted(key.string))") { () throws(SystemError) in
      try files.read(ValueFileReference(record.payload), keyLength: key.utf8.count)
    }
    switch contents {
    case .value(let data): return data
    // Replaced or removed since the record was read, by the cache or by somebody.
    case .missing: return nil
    case .damaged: throw corrupted(key.string)
    }
  }

  private func corrupted(_ key: String) -> CacheError {
    counters.corruptedRecords.increment()
    return CacheError(
      .corruptedRecord,
      "The checksum of the entry \(quoted(key)) does not match: its bytes were changed on the disk. Remove or replace it."
    )
  }

  private func unreadable(_ bytes: UnsafeRawBufferPointer, _ key: String) -> CacheError {
    if bytes.count >= RecordHeader.baseSize, bytes[4] > RecordHeader.version {
      return CacheError(
        .unsupportedRecord, "The entry \(quoted(key)) was written by a newer version of this package. It is kept.")
    }
    return corrupted(key)
  }
}
