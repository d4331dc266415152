import Foundation
import LMDB
import Logging
import Synchronization

// What the caches on a store use of its parts.

extension DiskStore {
  var logger: Logger { configuration.logger }

  // MARK: Reading

  /// See ``RecordReader/read(_:_:)``.
  @inline(__always)
  func read<R>(
    _ key: CacheKey, _ body: (StoredRecord<UnsafeRawBufferPointer>) throws(CacheError) -> R
  ) throws(CacheError) -> R? {
    try reader.read(key, body)
  }

  /// See ``RecordReader/read(_:_:)``.
  func read(_ keys: [String], _ body: RecordReader.Visitor) throws(CacheError) { try reader.read(keys, body) }

  /// See ``RecordReader/readData(_:)``.
  @inline(__always)
  func readData(_ key: CacheKey) throws(CacheError) -> StoredRecord<Data>? { try reader.readData(key) }

  /// See ``RecordReader/borrowBytes(_:_:)``.
  @inline(__always)
  func borrowBytes(_ key: CacheKey, _ body: (RawSpan) -> Void) throws(CacheError) { try reader.borrowBytes(key, body) }

  /// See ``RecordReader/header(_:)``.
  func header(_ key: CacheKey) throws(CacheError) -> StoredHeader? {
    try reader.header(key)
  }

  /// The header of the entry under `key`, or `nil` if there is none, or it has expired.
  func liveHeader(_ key: CacheKey) throws(CacheError) -> RecordHeader? {
    guard let header = try reader.header(key)?.header, !header.isExpired(at: clock.now) else { return nil }
    return header
  }

  /// See ``RecordReader/noteAccess(_:_:)``.
  func noteAccess(_ key: CacheKey, _ header: RecordHeader) { reader.noteAccess(key, header) }

  /// See ``EntryDatabase/foreignPosition``.
  @inline(__always)
  var foreignPosition: UInt64 { database.foreignPosition }

  /// See ``EntryDatabase/requiredPosition``.
  @inline(__always)
  var requiredPosition: UInt64 { database.requiredPosition }

  var tracker: TransactionTracker { database.tracker }

  // MARK: In a snapshot

  func header(_ key: CacheKey, in txn: borrowing ReadTransaction) throws(CacheError) -> RecordHeader? {
    try database.header(key, in: txn)
  }

  func readData(_ key: CacheKey, in txn: borrowing ReadTransaction) throws(CacheError) -> StoredRecord<Data>? {
    try reader.readData(key, in: txn)
  }

  func entries(
    withPrefix prefix: String, in txn: borrowing ReadTransaction
  ) throws(CacheError) -> [CacheEntry] {
    try database.entries(withPrefix: prefix, at: clock.now, in: txn)
  }

  /// Calls `body` with a snapshot that includes every write that returned before.
  func withSnapshot<R>(_ body: (borrowing ReadTransaction) -> R) throws(CacheError) -> R {
    try commitPending()
    return try database.accessing("Opening a snapshot of \(directory)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in body(txn) }
    }
  }

  // MARK: Telling

  func add(_ observer: any DiskStoreObserver) { observers.add(observer) }
  func remove(_ observer: any DiskStoreObserver) { observers.remove(observer) }

  @inline(__always)
  func noteChange(_ key: CacheKey, _ stamp: UInt64) { changes.noteChange(key, stamp) }
}
