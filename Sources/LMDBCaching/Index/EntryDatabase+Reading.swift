import Foundation
import LMDB
import Platform
import Synchronization

extension EntryDatabase {
  /// Copies the payload of the committed record under `key`, or returns `nil` if there is none.
  @inline(__always)
  func record<P>(
    _ key: CacheKey, copy: (UnsafeRawBufferPointer) -> P
  ) throws(CacheError) -> StoredRecord<P>? {
    try accessing("Reading \(quoted(key.string))") {
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
    try accessing("Reading \(quoted(key.string))") {
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
    try reading("Reading \(quoted(key.string))") { (txn) throws(LMDBError) in
      let position = environment.position(of: txn)
      return try storedHeader(key, in: txn).map { StoredHeader($0, validated: position) }
    }
  }

  /// Throws for an unreadable record.
  func header(_ key: CacheKey, in txn: borrowing ReadTransaction) throws(CacheError) -> RecordHeader? {
    try accessing("Reading \(quoted(key.string))") {
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
    try accessing("Reading \(quoted(key.string))") {
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

extension EntryDatabase {
  /// Calls `body`, in one transaction, with each index whose key has a committed record, and the record in place.
  func withRecords(
    of numbers: [Int], _ keys: [String], _ body: (Int, StoredRecord<UnsafeRawBufferPointer>) -> Void
  ) throws(CacheError) {
    if numbers.isEmpty { return }
    try reading("Reading entries of \(directoryName)") { (txn) throws(LMDBError) -> Result<Void, CacheError> in
      let position = environment.position(of: txn)
      var start = 0
      while start < numbers.count {
        let group = numbers[start..<min(start + ReadTransaction.togetherLimit, numbers.count)]
        let result = try withDatabaseKeys(of: group, keys) { (databaseKeys) throws(LMDBError) in
          try find(databaseKeys, group, keys, position, in: txn, body)
        }
        if case .failure = result { return result }
        start = group.endIndex
      }
      return .success(())
    }.get()
  }

  private func find(
    _ databaseKeys: UnsafeBufferPointer<UnsafeRawBufferPointer>, _ numbers: ArraySlice<Int>, _ keys: [String],
    _ position: UInt64, in txn: borrowing ReadTransaction, _ body: (Int, StoredRecord<UnsafeRawBufferPointer>) -> Void
  ) throws(LMDBError) -> Result<Void, CacheError> {
    // On the stack, sized to the keys.
    let room = databaseKeys.count * MemoryLayout<UnsafeRawBufferPointer?>.stride
    return try withStackBytes(room) { (bytes) throws(LMDBError) in
      let found = bytes.bindMemory(to: UnsafeRawBufferPointer?.self)
      found.initialize(repeating: nil)
      try txn.find(databaseKeys, found)
      return outcome { () throws(CacheError) in
        for (number, bytes) in zip(numbers, found) {
          guard let bytes else { continue }
          let record = try CacheKey.with(keys[number]) { (key) throws(CacheError) in
            try parse(bytes, key, position) { $0 }
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
    let table = numbers.count * MemoryLayout<UnsafeRawBufferPointer>.stride
    return try withStackBytes(table + room) { (memory) throws(LMDBError) in
      let databaseKeys = UnsafeMutableRawBufferPointer(rebasing: memory[..<table])
        .bindMemory(to: UnsafeRawBufferPointer.self)
      var rest = UnsafeMutableRawBufferPointer(rebasing: memory[table...])
      for (place, number) in numbers.enumerated() {
        let count = CacheKey.with(keys[number]) { key in
          databaseKey.withDatabaseKey(key.utf8) { bytes -> Int in
            rest.copyMemory(from: bytes)
            return bytes.count
          }
        }
        databaseKeys.initializeElement(at: place, to: UnsafeRawBufferPointer(rebasing: rest[..<count]))
        rest = UnsafeMutableRawBufferPointer(rebasing: rest[count...])
      }
      return try body(UnsafeBufferPointer(databaseKeys))
    }
  }
}

extension EntryDatabase {
  /// The live entries whose keys start with `prefix`, in byte order, from one snapshot, without `hidden` ones, which
  /// have newer values in memory.
  func entries(
    withPrefix prefix: String, at now: Int64, hiding hidden: HiddenKeys?
  ) throws(CacheError) -> [CacheEntry] {
    try reading("Listing \(directoryName)") { (txn) throws(LMDBError) in try list(prefix, at: now, hidden, txn) }
  }

  func entries(
    withPrefix prefix: String, at now: Int64, in txn: borrowing ReadTransaction
  ) throws(CacheError) -> [CacheEntry] {
    try accessing("Listing \(directoryName)") { try list(prefix, at: now, nil, txn) }
  }

  private func list(
    _ prefix: String, at now: Int64, _ hidden: HiddenKeys?, _ txn: borrowing ReadTransaction
  ) throws(LMDBError) -> [CacheEntry] {
    try txn.withCursor { (cursor) throws(LMDBError) in
      var entries: [CacheEntry] = []
      var longEntries: [CacheEntry] = []
      try withUTF8Bytes(of: prefix) { (prefix) throws(LMDBError) in
        let (plain, long) = (KeyRange.plain(ofPrefix: prefix), KeyRange.long(ofPrefix: prefix))
        _ = try collect(plain, prefix, from: plain.first(cursor), cursor, now, hidden, txn, &entries)
        _ = try collect(long, prefix, from: long.first(cursor), cursor, now, hidden, txn, &longEntries)
      }
      if longEntries.isEmpty { return entries }
      // Sort in the few long keys, which LMDB stores under digests.
      entries += longEntries
      entries.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      return entries
    }
  }

  /// One page of ``entries(withPrefix:at:hiding:)``, in its own transaction. Long keys come last.
  ///
  /// - Parameter length: The number of records to examine.
  func page(
    withPrefix prefix: String, from start: EntryPage.Start, length: Int, at now: Int64, hiding hidden: HiddenKeys?
  ) throws(CacheError) -> EntryPage {
    try reading("Listing \(directoryName)") { (txn) throws(LMDBError) in
      try txn.withCursor { (cursor) throws(LMDBError) in
        var page = EntryPage()
        try withUTF8Bytes(of: prefix) { (prefix) throws(LMDBError) in
          let range = start.isLong ? KeyRange.long(ofPrefix: prefix) : KeyRange.plain(ofPrefix: prefix)
          let first = start.last == nil ? try range.first(cursor) : try Self.position(cursor, after: start.last)
          let last = try collect(range, prefix, from: first, cursor, now, hidden, txn, limit: length, &page.entries)
          if last != nil || !start.isLong {
            page.next = EntryPage.Start(isLong: start.isLong || last == nil, last: last)
          }
        }
        return page
      }
    }
  }

  /// Examines up to `limit` records (at least one), starting at `first`, the cursor's entry. Returns the last key if
  /// there may be more.
  private func collect(
    _ range: KeyRange, _ prefix: UnsafeRawBufferPointer, from first: Cursor.Entry?, _ cursor: borrowing Cursor,
    _ now: Int64, _ hidden: HiddenKeys?, _ txn: borrowing ReadTransaction, limit: Int = .max,
    _ entries: inout [CacheEntry]
  ) throws(LMDBError) -> [UInt8]? {
    var position = first
    var count = 0
    while let entry = position, range.contains(entry.key) {
      if let header = RecordHeader(entry.value), !header.isExpired(at: now),
        let key = DatabaseKey.key(ofDatabaseKey: entry.key, record: entry.value, header: header), key.hasPrefix(prefix),
        hidden.map({ !$0.hides(header, under: key) }) ?? true, try !Self.isRemoved(header, in: txn)
      {
        entries.append(CacheEntry(String(decoding: key, as: UTF8.self), header, entry.value))
      }
      count += 1
      if count == limit { return Array(entry.key) }
      position = try cursor.next()
    }
    return nil
  }

  static func position(
    _ cursor: borrowing Cursor, after key: [UInt8]?
  ) throws(LMDBError) -> Cursor.Entry? {
    guard let key else { return try cursor.first() }
    return try key.withBytes { (key) throws(LMDBError) in
      guard let found = try cursor.seek(toKeyAtOrAfter: key) else { return nil }
      return found.key.elementsEqual(fast: key) ? try cursor.next() : found
    }
  }
}

extension CacheEntry {
  init(_ key: String, _ header: RecordHeader, _ record: UnsafeRawBufferPointer) {
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

struct EntryPage {
  struct Start {
    /// Whether the page is among the long keys, stored under digests, which come last.
    var isLong = false
    /// The database key of the previous page's last record; `nil` at the start.
    var last: [UInt8]?
  }

  /// May be empty even if there is a next page.
  var entries: [CacheEntry] = []
  /// `nil` on the last page.
  var next: Start?
}

/// A Bloom filter of keys with one of 2^18 bits per hash. Any thread; a key inserted during `removeAll` may be lost.
// @unchecked: the pointer never changes, and the words behind it are atomic.
final class KeyFilter: @unchecked Sendable {
  private static let bits = 1 << 18
  private let words: UnsafeMutablePointer<Atomic<UInt64>>

  init() {
    words = .allocate(capacity: Self.bits / 64)
    for index in 0..<Self.bits / 64 { (words + index).initialize(to: Atomic(0)) }
  }

  deinit {
    words.deinitialize(count: Self.bits / 64)
    words.deallocate()
  }

  @inline(__always)
  private func place(_ hash: UInt64) -> (word: Int, bit: UInt64) {
    (Int(truncatingIfNeeded: hash >> 6) & (Self.bits / 64 - 1), 1 << (hash & 63))
  }

  @inline(__always)
  func mayContain(_ hash: UInt64) -> Bool {
    let (word, bit) = place(hash)
    return words[word].load(ordering: .relaxed) & bit != 0
  }

  func insert(_ hash: UInt64) {
    let (word, bit) = place(hash)
    words[word].bitwiseOr(bit, ordering: .relaxed)
  }

  func removeAll() {
    for index in 0..<Self.bits / 64 { words[index].store(0, ordering: .relaxed) }
  }
}
