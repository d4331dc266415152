import LMDB

extension EntryDatabase {
  /// Copies the payload of the committed record under `key`, or returns `nil` if there is none.
  @inline(__always)
  func record<P>(
    _ key: CacheKey, copy: (UnsafeRawBufferPointer) -> P
  ) throws(CacheError) -> StoredRecord<P>? {
    try accessing("Reading \(quoted(key.string))") { () throws(LMDBError) in
      try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) in
        environment.prefetch(databaseKey)
        return try environment.withReadTransaction { (txn) throws(LMDBError) in
          try stored(key, databaseKey, in: txn, copy)
        }
      }
    }.get()
  }

  func record<P>(
    _ key: CacheKey, in txn: borrowing ReadTransaction, copy: (UnsafeRawBufferPointer) -> P
  ) throws(CacheError) -> StoredRecord<P>? {
    try accessing("Reading \(quoted(key.string))") { () throws(LMDBError) in
      try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) in
        try stored(key, databaseKey, in: txn, copy)
      }
    }.get()
  }

  @inline(__always)
  private func stored<P>(
    _ key: CacheKey, _ databaseKey: UnsafeRawBufferPointer, in txn: borrowing ReadTransaction,
    _ copy: (UnsafeRawBufferPointer) -> P
  ) throws(LMDBError) -> Result<StoredRecord<P>?, CacheError> {
    let position = environment.position(of: txn)
    return try txn.withValue(forKey: databaseKey) { bytes in
      outcome { () throws(CacheError) in try parse(bytes, key, position, copy) }
    } ?? .success(nil)
  }

  /// Parses a record. Returns `nil` if it belongs to another key with the same digest.
  @inline(__always)
  func parse<P>(
    _ bytes: UnsafeRawBufferPointer, _ key: CacheKey, _ position: UInt64, _ copy: (UnsafeRawBufferPointer) -> P
  ) throws(CacheError) -> StoredRecord<P>? {
    guard let header = RecordHeader(bytes) else { throw unreadable(bytes, key.string) }
    guard header.belongs(to: key.utf8, in: bytes) else { return nil }
    return StoredRecord(
      header: header.detached, tags: header.tags.map(EntryTags.init(copying:)),
      headerHash: header.headerHash(bytes, key: key.utf8), payload: copy(header.payload(of: bytes)),
      validated: position)
  }

  /// The committed header under `key` and the position of the read, without verifying the checksum.
  func header(_ key: CacheKey) throws(CacheError) -> StoredHeader? {
    try accessing("Reading \(quoted(key.string))") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        let position = environment.position(of: txn)
        return try storedHeader(key, in: txn).map { StoredHeader($0, validated: position) }
      }
    }
  }

  /// Throws for an unreadable record.
  func header(_ key: CacheKey, in txn: borrowing ReadTransaction) throws(CacheError) -> RecordHeader? {
    try accessing("Reading \(quoted(key.string))") { () throws(LMDBError) in
      try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) in
        try liveHeader(key, databaseKey, in: txn)
      }
    }.get()
  }

  private func liveHeader(
    _ key: CacheKey, _ databaseKey: UnsafeRawBufferPointer, in txn: borrowing ReadTransaction
  ) throws(LMDBError) -> Result<RecordHeader?, CacheError> {
    let found = try txn.withValue(forKey: databaseKey) { bytes -> Result<RecordHeader?, CacheError> in
      guard let header = RecordHeader(bytes) else { return .failure(unreadable(bytes, key.string)) }
      return .success(header.belongs(to: key.utf8, in: bytes) ? header : nil)
    }
    guard case .success(let header?)? = found else { return found ?? .success(nil) }
    return .success(try Self.isRemoved(header, in: txn) ? nil : header.detached)
  }

  /// The returned header's tags are valid only in the transaction.
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

  /// Calls `body` with the committed record of `key` in place.
  @inline(__always)
  func borrowRecord<R>(_ key: CacheKey, _ body: (UnsafeRawBufferPointer) -> R) throws(CacheError) -> R? {
    try accessing("Reading \(quoted(key.string))") { () throws(LMDBError) in
      try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) -> R? in
        environment.prefetch(databaseKey)
        return try environment.withReadTransaction { (txn) throws(LMDBError) -> R? in
          try txn.withValue(forKey: databaseKey, body)
        }
      }
    }
  }

  // MARK: Errors of single records

  func corrupted(_ key: String) -> CacheError {
    counters.corruptedRecords.increment()
    return .corrupted(key)
  }

  func unreadable(_ bytes: UnsafeRawBufferPointer, _ key: String) -> CacheError {
    let error = CacheError.unreadable(bytes, key)
    if error.code == .corruptedRecord { counters.corruptedRecords.increment() }
    return error
  }
}

extension CacheError {
  static func corrupted(_ key: String) -> CacheError {
    CacheError(
      .corruptedRecord,
      "The checksum of the entry \(quoted(key)) does not match: its bytes were changed on the disk. Remove or replace it."
    )
  }

  /// The error for a record without a header of this version.
  static func unreadable(_ record: UnsafeRawBufferPointer, _ key: String) -> CacheError {
    if record.count >= RecordHeader.baseSize, record[4] > RecordHeader.version {
      return CacheError(
        .unsupportedRecord, "The entry \(quoted(key)) was written by a newer version of this package. It is kept.")
    }
    return .corrupted(key)
  }
}
