import Foundation
import LMDB
import Platform
import Synchronization

extension EntryDatabase {
  /// Copies the payload of the committed record under `key`, or returns `nil` if there is none.
  @inline(__always)
  func record<P>(_ key: CacheKey, copy: (ByteView) -> P) throws(CacheError) -> StoredRecord<P>? {
    try accessing("Reading \(quoted(key.string))") {
      try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) in
        unsafe environment.prefetch(databaseKey.buffer)
        return try environment.withReadTransaction { (txn) throws(LMDBError) in
          try stored(key, databaseKey, in: txn, copy)
        }
      }
    }.get()
  }

  func record<P>(
    _ key: CacheKey, in txn: borrowing ReadTransaction, copy: (ByteView) -> P
  ) throws(CacheError) -> StoredRecord<P>? {
    try accessing("Reading \(quoted(key.string))") {
      try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) in
        try stored(key, databaseKey, in: txn, copy)
      }
    }.get()
  }

  @inline(__always)
  private func stored<P>(
    _ key: CacheKey, _ databaseKey: ByteView, in txn: borrowing ReadTransaction, _ copy: (ByteView) -> P
  ) throws(LMDBError) -> Result<StoredRecord<P>?, CacheError> {
    let position = environment.position(of: txn)
    return try txn.withValue(forKey: databaseKey) { bytes in
      outcome { () throws(CacheError) in try parse(bytes, key, position, copy) }
    } ?? .success(nil)
  }

  /// Parses a record. Returns `nil` if it belongs to another key with the same digest.
  @inline(__always)
  func parse<P>(
    _ bytes: ByteView, _ key: CacheKey, _ position: UInt64, _ copy: (ByteView) -> P
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
    try reading("Reading \(quoted(key.string))") { (txn) throws(LMDBError) in
      let position = environment.position(of: txn)
      return try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) in
        try txn.withValue(forKey: databaseKey) { bytes -> StoredHeader? in
          guard let header = RecordHeader(bytes), header.belongs(to: key.utf8, in: bytes) else { return nil }
          return StoredHeader(header, validated: position)
        } ?? nil
      }
    }
  }

  /// Throws for an unreadable record.
  func header(_ key: CacheKey, in txn: borrowing ReadTransaction) throws(CacheError) -> RecordHeader? {
    try accessing("Reading \(quoted(key.string))") {
      try liveHeader(key, in: txn)
    }.get()
  }

  func liveHeader(
    _ key: CacheKey, in txn: borrowing ReadTransaction
  ) throws(LMDBError) -> Result<RecordHeader?, CacheError> {
    let found = try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) in
      try txn.withValue(forKey: databaseKey) { bytes -> Result<RecordHeader?, CacheError> in
        guard let header = RecordHeader(bytes) else { return .failure(unreadable(bytes, key.string)) }
        return .success(header.belongs(to: key.utf8, in: bytes) ? header : nil)
      }
    }
    guard case .success(let header?)? = found else { return found ?? .success(nil) }
    return .success(try Self.isRemoved(header, in: txn) ? nil : header.detached)
  }

  /// Calls `body` with the committed record of `key` in place.
  @inline(__always)
  func borrowRecord<R>(_ key: CacheKey, _ body: (ByteView) -> R) throws(CacheError) -> R? {
    try accessing("Reading \(quoted(key.string))") {
      try databaseKey.withDatabaseKey(key.utf8) { (databaseKey) throws(LMDBError) -> R? in
        unsafe environment.prefetch(databaseKey.buffer)
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

  func unreadable(_ bytes: ByteView, _ key: String) -> CacheError {
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
  static func unreadable(_ record: ByteView, _ key: String) -> CacheError {
    if record.count >= RecordHeader.baseSize, record[4] > RecordHeader.version {
      return CacheError(
        .unsupportedRecord, "The entry \(quoted(key)) was written by a newer version of this package. It is kept.")
    }
    return .corrupted(key)
  }
}

extension EntryDatabase {
  /// Calls `body`, in one transaction, with each index whose key has a committed record, and the record in place.
  func withRecords(
    of numbers: [Int], _ keys: [String], _ body: (Int, StoredRecord<ByteView>) -> Void
  ) throws(CacheError) {
    if numbers.isEmpty { return }
    try reading("Reading entries of \(directoryName)") { (txn) throws(LMDBError) -> Result<Void, CacheError> in
      let position = environment.position(of: txn)
      var start = 0
      while start < numbers.count {
        let group = numbers[start..<min(start + ReadTransaction.togetherLimit, numbers.count)]
        let result = try unsafe withDatabaseKeys(of: group, keys) { (databaseKeys) throws(LMDBError) in
          try unsafe find(databaseKeys, group, keys, position, in: txn, body)
        }
        if case .failure = result { return result }
        start = group.endIndex
      }
      return .success(())
    }.get()
  }

  private func find(
    _ databaseKeys: UnsafeBufferPointer<UnsafeRawBufferPointer>, _ numbers: ArraySlice<Int>, _ keys: [String],
    _ position: UInt64, in txn: borrowing ReadTransaction, _ body: (Int, StoredRecord<ByteView>) -> Void
  ) throws(LMDBError) -> Result<Void, CacheError> {
    // On the stack, sized to the keys.
    let room = unsafe databaseKeys.count * MemoryLayout<UnsafeRawBufferPointer?>.stride
    return try withStackBytes(room) { (bytes) throws(LMDBError) in
      let found = unsafe bytes.buffer.bindMemory(to: UnsafeRawBufferPointer?.self)
      unsafe found.initialize(repeating: nil)
      try unsafe txn.find(databaseKeys, found)
      return outcome { () throws(CacheError) in
        for unsafe(number, bytes) in unsafe zip(numbers, found) {
          guard let bytes = unsafe bytes else { continue }
          let record = try CacheKey.with(keys[number]) { (key) throws(CacheError) in
            try unsafe parse(ByteView(bytes), key, position) { $0 }
          }
          if let record { body(number, record) }
        }
      }
    }
  }

  private func withDatabaseKeys<R>(
    of numbers: ArraySlice<Int>, _ keys: [String],
    _ body: (UnsafeBufferPointer<UnsafeRawBufferPointer>) throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    // Copied, because only one string's bytes are valid at a time.
    var room = 0
    for number in numbers { room += min(max(1, keys[number].utf8.count), DatabaseKey.maximumLength) }
    let table = unsafe numbers.count * MemoryLayout<UnsafeRawBufferPointer>.stride
    return try withStackBytes(table + room) { (memory) throws(LMDBError) in
      let databaseKeys = unsafe memory[..<table].buffer.bindMemory(to: UnsafeRawBufferPointer.self)
      var rest = memory[table...]
      for (place, number) in numbers.enumerated() {
        let count = CacheKey.with(keys[number]) { key in
          databaseKey.withDatabaseKey(key.utf8) { bytes -> Int in
            rest.copy(bytes)
            return bytes.count
          }
        }
        unsafe databaseKeys.initializeElement(at: place, to: ByteView(rest[..<count]).buffer)
        rest = rest[count...]
      }
      return try unsafe body(UnsafeBufferPointer(databaseKeys))
    }
  }
}

extension EntryDatabase {
  /// The live entries whose keys start with `prefix`, in byte order, from one snapshot.
  func entries(withPrefix prefix: String, at now: Int64) throws(CacheError) -> [CacheEntry] {
    try reading("Listing \(directoryName)") { (txn) throws(LMDBError) in try list(prefix, at: now, txn) }
  }

  func entries(
    withPrefix prefix: String, at now: Int64, in txn: borrowing ReadTransaction
  ) throws(CacheError) -> [CacheEntry] {
    try accessing("Listing \(directoryName)") { try list(prefix, at: now, txn) }
  }

  private func list(
    _ prefix: String, at now: Int64, _ txn: borrowing ReadTransaction
  ) throws(LMDBError) -> [CacheEntry] {
    var entries = try page(prefix, after: nil, length: .max, at: now, txn).entries
    // Sort in the few long keys, which LMDB stores under digests, behind the others.
    if let last = entries.last, last.key.isEmpty || last.key.utf8.count > DatabaseKey.maximumLength {
      entries.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }
    return entries
  }

  /// One page of ``entries(withPrefix:at:)``, in its own transaction. Long keys come last.
  ///
  /// - Parameter length: The number of records to examine.
  func page(
    withPrefix prefix: String, after place: EntryPlace?, length: Int, at now: Int64
  ) throws(CacheError) -> EntryPage {
    try reading("Listing \(directoryName)") { (txn) throws(LMDBError) in
      try page(prefix, after: place, length: length, at: now, txn)
    }
  }

  private func page(
    _ prefix: String, after place: EntryPlace?, length: Int, at now: Int64, _ txn: borrowing ReadTransaction
  ) throws(LMDBError) -> EntryPage {
    var page = EntryPage()
    page.next = try visitPage(withPrefix: prefix, after: place, length: length, at: now, txn) { found, header in
      page.entries.append(CacheEntry(String(utf8: found.key), header, found.bytes))
    }
    return page
  }

  /// Visits the live entries among `length` records (at least one): plain keys in byte order, then long ones.
  ///
  /// - Returns: The start of the next page, which may turn out to be empty.
  func visitPage(
    withPrefix prefix: String, after place: EntryPlace?, length: Int, at now: Int64, _ txn: borrowing ReadTransaction,
    _ visit: (FoundRecord, RecordHeader) -> Void
  ) throws(LMDBError) -> EntryPlace? {
    let snapshot = try EntrySnapshot(txn, databaseKey, at: now)
    return try withUTF8Bytes(of: prefix) { (prefix) throws(LMDBError) in
      try snapshot.scan(prefix, after: place, limit: length, .live) { found in
        if let header = found.header { visit(found, header) }
        return true
      }
    }
  }

  static func position(_ cursor: borrowing Cursor, after key: [UInt8]?) throws(LMDBError) -> Cursor.Entry? {
    guard let key else { return try cursor.first() }
    return try key.withBytes { (key) throws(LMDBError) in
      guard let found = try cursor.seek(toKeyAtOrAfter: key) else { return nil }
      return found.keyBytes.elementsEqual(fast: key) ? try cursor.next() : found
    }
  }
}

extension CacheEntry {
  init(_ key: String, _ header: RecordHeader, _ record: ByteView) {
    self.init(key, header, size: header.valueLength(in: record))
  }

  /// - Parameters:
  ///   - header: Its tags must still be valid.
  ///   - size: The value's size, wherever it is stored.
  init(_ key: String, _ header: RecordHeader, size: Int) {
    self.init(
      key: key,
      expiration: header.expires == 0 ? nil : Date(timeIntervalSince1970: Double(header.expires) / 1e9),
      cost: header.cost, size: size, format: header.format,
      created: Date(timeIntervalSince1970: Double(header.created)),
      lastAccess: Date(timeIntervalSince1970: Double(header.lastAccess)),
      version: EntryVersion(stamp: header.stamp), tags: header.tags.map(EntryTags.init(copying:)),
      expires: header.expires)
  }
}

package struct EntryPage: Sendable {
  /// May be empty even if there is a next page.
  package var entries: [CacheEntry] = []
  /// The end of this page, where the next one starts; `nil` on the last.
  package var next: EntryPlace?
}
