import Foundation
import LMDB

// Complete stored entries, for copying between caches.

extension DiskCache {
  /// How many records are copied at once, and about how many bytes.
  private static let recordsAtOnce = 256
  private static let bytesAtOnce = 1 << 20

  /// Calls `body` with a snapshot of the live entries and their values, one at a time, until it returns `false`.
  /// Includes earlier writes of this process. The files grow during the call if others write. Keys are not in order:
  /// the longest come last.
  ///
  /// - Parameter onDamage: Called with the error of an unreadable entry; reading continues if it returns.
  package func forEachRecord(
    withPrefix prefix: String = "", onDamage: (CacheError) throws -> Void, _ body: (EntryRecord) throws -> Bool
  ) throws {
    try checkOpen()
    try store.withSnapshot { transaction in
      Result { try forEachRecord(prefix, in: transaction, onDamage, body) }
    }.get()
  }

  private func forEachRecord(
    _ prefix: String, in transaction: borrowing ReadTransaction, _ onDamage: (CacheError) throws -> Void,
    _ body: (EntryRecord) throws -> Bool
  ) throws {
    var next: EntryPage.Start? = EntryPage.Start()
    while let start = next {
      let records: [CopiedRecord]
      (records, next) = try copies(prefix, from: start, in: transaction)
      for copied in records {
        let record: EntryRecord
        do throws(CacheError) {
          record = try completed(copied)
        } catch {
          guard error.isOfOneEntry else { throw error }
          try onDamage(error)
          continue
        }
        if try !body(record) { return }
      }
    }
  }

  private func completed(_ copied: CopiedRecord) throws(CacheError) -> EntryRecord {
    let record = try copied.completed { [reader] (pointer, key) throws(CacheError) in
      try reader.loggedValue(pointer, of: key)
    }
    // A snapshot keeps its segments, unless another program deletes them.
    guard let record else { throw .corrupted(String(decoding: copied.key, as: UTF8.self)) }
    return record
  }

  private func copies(
    _ prefix: String, from start: EntryPage.Start, in transaction: borrowing ReadTransaction
  ) throws(CacheError) -> (records: [CopiedRecord], next: EntryPage.Start?) {
    let now = store.clock.now
    return try store.database.accessing("Reading \(store.directory)") { () throws(LMDBError) in
      try transaction.withCursor { (cursor) throws(LMDBError) in
        try withUTF8Bytes(of: prefix) { (prefix) throws(LMDBError) in
          let range = start.isLong ? KeyRange.long(ofPrefix: prefix) : KeyRange.plain(ofPrefix: prefix)
          var position =
            start.last == nil ? try range.first(cursor) : try EntryDatabase.position(cursor, after: start.last)
          var (records, looked, bytes): ([CopiedRecord], Int, Int) = ([], 0, 0)
          while let entry = position, range.contains(entry.key) {
            if let record = try Self.record(entry, prefix, at: now, in: transaction) {
              records.append(record)
              bytes += record.bytes.count
            }
            looked += 1
            if looked == Self.recordsAtOnce || bytes >= Self.bytesAtOnce {
              return (records, EntryPage.Start(isLong: start.isLong, last: Array(entry.key)))
            }
            position = try cursor.next()
          }
          return (records, start.isLong ? nil : EntryPage.Start(isLong: true))
        }
      }
    }
  }

  /// `nil` for a hidden one.
  private static func record(
    _ entry: Cursor.Entry, _ prefix: UnsafeRawBufferPointer, at now: Int64, in transaction: borrowing ReadTransaction
  ) throws(LMDBError) -> CopiedRecord? {
    guard let header = RecordHeader(entry.value),
      let key = DatabaseKey.key(ofDatabaseKey: entry.key, record: entry.value, header: header)
    else { return CopiedRecord(unreadable: entry.value, databaseKey: entry.key) }
    guard key.hasPrefix(prefix), EntrySelection.kept.shows(header, at: now),
      try !EntryDatabase.isRemoved(header, in: transaction)
    else { return nil }
    return CopiedRecord(key: Array(key), bytes: Array(entry.value))
  }
}
