import CLMDB
import Platform

/// A snapshot of the environment, lent to the body of ``Environment/withReadTransaction(_:)``.
///
/// It shows the state of one moment despite later writes. It stays on its thread, and its pointers must not be used
/// after its scope ends: pages may be reused, and the map may move.
public struct ReadTransaction: ~Copyable {
  @usableFromInline let handle: OpaquePointer

  /// `nil` to search with LMDB.
  let tree: Tree?
  /// Unmanaged: `withReadTransaction`, which lends the transaction, ends it in the environment.
  private let environment: Unmanaged<Environment>

  @usableFromInline
  init(_ lease: ReaderLease) {
    handle = lease.transaction
    environment = lease.environment
    // Tests make `mdb_get` fail.
    tree = FaultInjection.isOn ? nil : environment._withUnsafeGuaranteedRef { $0.tree(of: lease.transaction) }
  }

  private init(_ other: borrowing ReadTransaction) {
    handle = other.handle
    environment = other.environment
    tree = other.tree
  }

  /// A copy for a type that wraps the transaction. Must not be used after the original's scope ends.
  package func alias() -> ReadTransaction { ReadTransaction(self) }

  /// The number of the transaction that the snapshot shows (`mdb_txn_id`).
  public var id: UInt64 {
    Calls.id(handle)
  }

  /// Runs `body` with a key's value, directly in the map (`mdb_get`). Copies and allocates nothing.
  ///
  /// - Parameter body: Receives the bytes, unaligned and valid until it returns.
  /// - Returns: The result of `body`, or `nil` if the key is absent.
  /// - Throws: The error of `body`; `.badValueSize` for an empty key; `.corrupted` and others for a damaged file.
  @inlinable
  public func withValue<R: ~Copyable>(
    forKey key: UnsafeRawBufferPointer, in database: Database = .main,
    _ body: (UnsafeRawBufferPointer) throws(LMDBError) -> R
  ) throws(LMDBError) -> R? {
    guard let value = try find(key, in: database) else { return nil }
    return try body(value)
  }

  @usableFromInline
  func find(_ key: UnsafeRawBufferPointer, in database: Database) throws(LMDBError) -> UnsafeRawBufferPointer? {
    if let tree, database == .main {
      switch tree.find(key) {
      case .value(let value): return value
      case .absent: return nil
      case .unknown: break
      }
    }
    return try findByLMDB(key, in: database)
  }

  @inline(never)
  func findByLMDB(_ key: UnsafeRawBufferPointer, in database: Database) throws(LMDBError) -> UnsafeRawBufferPointer? {
    let value = try lookUp(key, in: database, handle)
    if let value, tree == nil, !FaultInjection.isOn {
      environment._withUnsafeGuaranteedRef { $0.learnMap(of: value, handle) }
    }
    return value
  }

  /// Runs `body` with a new cursor over a database, without a position (`mdb_cursor_open`).
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
