import Foundation
import LMDB
import Platform

extension EntryDatabase {
  /// The live entries whose keys start with `prefix`, in byte order, from one snapshot, without `hidden` ones, which
  /// have newer values in memory.
  func entries(
    withPrefix prefix: String, at now: Int64, hiding hidden: HiddenKeys?
  ) throws(CacheError) -> [CacheEntry] {
    try accessing("Listing \(directoryName)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in try list(prefix, at: now, hidden, txn) }
    }
  }

  func entries(
    withPrefix prefix: String, at now: Int64, in txn: borrowing ReadTransaction
  ) throws(CacheError) -> [CacheEntry] {
    try accessing("Listing \(directoryName)") { () throws(LMDBError) in try list(prefix, at: now, nil, txn) }
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
    try accessing("Listing \(directoryName)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
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
