import Foundation
import LMDB

// All of an entry as it is stored: for who moves entries from one cache to another.

extension DiskCache {
  /// How many records are copied at a time, and of how many bytes about.
  private static let recordsAtOnce = 256
  private static let bytesAtOnce = 1 << 20

  /// Calls `body` with the entries and their values as of one moment, one at a time, until it returns `false`: those that a
  /// read or a load finds. What was written here before is among them. The files grow while it goes on and others write.
  ///
  /// Not in the order of their keys: those with the longest ones come last.
  ///
  /// - Parameter onDamage: Called with the error of an entry that cannot be read; the others are read all the same if it
  ///   returns.
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
    // No segment goes that a snapshot refers to, unless somebody removes it.
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

  /// `nil` for one that is not to be shown.
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
