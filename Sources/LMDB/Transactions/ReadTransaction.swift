import CLMDB

/// A snapshot of the environment, lent to the body of ``Environment/withReadTransaction(_:)``.
///
/// It sees the state of one moment, whatever others write meanwhile. It stays on its thread, and no pointer that it
/// gives out may be used after its scope ends: the page behind it may be reused, and the map may move.
public struct ReadTransaction: ~Copyable {
  @usableFromInline let handle: OpaquePointer

  @usableFromInline
  init(handle: OpaquePointer) {
    self.handle = handle
  }

  /// The same transaction once more, for a type that wraps it. Not to be used after the original's scope ends.
  package func alias() -> ReadTransaction { ReadTransaction(handle: handle) }

  /// The number of the transaction that the snapshot shows (`mdb_txn_id`).
  public var id: UInt64 {
    UInt64(Calls.id(handle))
  }

  /// Runs `body` with the value of a key, right in the map (`mdb_get`). Nothing is copied or allocated.
  ///
  /// - Parameter body: Gets the bytes, which are valid until it returns. They are not aligned.
  /// - Returns: What `body` returns, or `nil` if there is no such key.
  /// - Throws: what `body` throws; `.badValueSize` for an empty key; `.corrupted` and others for a damaged file.
  @inlinable
  public func withValue<R: ~Copyable>(
    forKey key: UnsafeRawBufferPointer, in database: Database = .main,
    _ body: (UnsafeRawBufferPointer) throws(LMDBError) -> R
  ) throws(LMDBError) -> R? {
    guard let value = try lookUp(key, in: database, handle) else { return nil }
    return try body(value)
  }

  /// Runs `body` with a cursor over a database, which has no position yet (`mdb_cursor_open`).
  @inlinable
  public func withCursor<R: ~Copyable>(
    in database: Database = .main, _ body: (borrowing Cursor) throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    try body(try Cursor(transaction: handle, database: database, writer: nil))
  }

  /// The size of a database (`mdb_stat`).
  public func statistics(of database: Database = .main) throws(LMDBError) -> Statistics {
    try Statistics(of: database, handle)
  }
}
