import Foundation
import LMDB

extension DiskStore {
  /// The live entries whose keys start with `prefix`, in the byte order of their keys, as of one moment.
  func entries(withPrefix prefix: String) throws(CacheError) -> [CacheEntry] {
    try commitPending()
    return try trusting("Listing \(directory)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in try entries(withPrefix: prefix, txn) }
    }
  }

  func entries(withPrefix prefix: String, _ txn: borrowing ReadTransaction) throws(LMDBError) -> [CacheEntry] {
    let now = clock.now
    return try txn.withCursor { (cursor) throws(LMDBError) in
      var entries: [CacheEntry] = []
      var longEntries: [CacheEntry] = []
      try withUTF8Bytes(of: prefix) { (prefix) throws(LMDBError) in
        try collect(KeyRange.plain(ofPrefix: prefix), prefix, cursor, now, &entries)
        try collect(KeyRange.long(ofPrefix: prefix), prefix, cursor, now, &longEntries)
      }
      if longEntries.isEmpty { return entries }
      // Keys that LMDB holds elsewhere, under digests: few. They find their places here.
      entries += longEntries
      entries.sort { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      return entries
    }
  }

  private func collect(
    _ range: KeyRange, _ prefix: UnsafeRawBufferPointer, _ cursor: borrowing Cursor, _ now: Int64,
    _ entries: inout [CacheEntry]
  ) throws(LMDBError) {
    var position = try range.first(cursor)
    while let entry = position, range.contains(entry.key) {
      if let header = RecordHeader(entry.value), !header.isExpired(at: now),
        let key = DatabaseKey.key(ofDatabaseKey: entry.key, record: entry.value, header: header), key.hasPrefix(prefix)
      {
        entries.append(CacheEntry(String(decoding: key, as: UTF8.self), header, entry.value))
      }
      position = try cursor.next()
    }
  }

  /// Number of entries, expired ones that were not removed yet included. No scan: the count is kept.
  func count() throws(CacheError) -> Int {
    try commitPending()
    return try metadata().count
  }

  /// The sum of the costs. No scan: it is kept.
  func totalCost() throws(CacheError) -> Int {
    try commitPending()
    return try metadata().cost
  }

  /// Bytes that the cache's files occupy on the disk.
  func bytesOnDisk() throws(CacheError) -> Int {
    try calling("Measuring \(directory)") { () throws(SystemError) in try Directory.allocatedBytes(in: directory) }
  }
}

extension CacheEntry {
  init(_ key: String, _ header: RecordHeader, _ record: UnsafeRawBufferPointer) {
    self.init(
      key: key,
      expiration: header.expires == 0 ? nil : Date(timeIntervalSince1970: Double(header.expires) / 1e9),
      cost: header.cost, size: header.valueLength(in: record), format: header.format,
      created: Date(timeIntervalSince1970: Double(header.created)),
      lastAccess: Date(timeIntervalSince1970: Double(header.lastAccess)))
  }
}
