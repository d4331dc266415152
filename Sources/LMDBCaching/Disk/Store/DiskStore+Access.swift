import LMDB
import Synchronization

extension DiskStore {
  @inline(__always)
  var foreignPosition: UInt64 { database.foreignPosition }

  @inline(__always)
  var requiredPosition: UInt64 { database.requiredPosition }

  var tracker: TransactionTracker { database.tracker }

  // MARK: In a snapshot

  func header(_ key: CacheKey, in txn: borrowing ReadTransaction) throws(CacheError) -> RecordHeader? {
    try database.header(key, in: txn)
  }

  func entries(
    withPrefix prefix: String, in txn: borrowing ReadTransaction
  ) throws(CacheError) -> [CacheEntry] {
    try database.entries(withPrefix: prefix, at: clock.now, in: txn)
  }

  /// Calls `body` with a snapshot that includes every write that returned before.
  func withSnapshot<R>(_ body: (borrowing ReadTransaction) -> R) throws(CacheError) -> R {
    // Hidden entries are older than acknowledged writes, and would otherwise be in the snapshot.
    try journal.commitPending(includesHidden: true)
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
