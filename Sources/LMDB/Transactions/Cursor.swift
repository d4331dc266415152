import CLMDB
import Platform

/// A position in a database, in bytewise key order. Lent to the body of `withCursor`.
///
/// Moving functions return `nil` if there is no such entry. Entries point into the map: valid until the next change in
/// a write transaction, or until the end of a read transaction.
public struct Cursor: ~Copyable {
  private let handle: CursorHandle
  /// Set in a write transaction.
  private let writer: Environment?

  /// `mdb_cursor_open`.
  @usableFromInline
  init(transaction: TransactionHandle, database: Database, writer: Environment?) throws(LMDBError) {
    handle = try transaction.openCursor(database)
    self.writer = writer
  }

  // Its scope is over.
  deinit { unsafe handle.close() }

  // MARK: - Moving

  /// Moves to the smallest key (`MDB_FIRST`).
  public func first() throws(LMDBError) -> Entry? { try handle.move(MDB_FIRST) }

  /// Moves to the greatest key (`MDB_LAST`).
  public func last() throws(LMDBError) -> Entry? { try handle.move(MDB_LAST) }

  /// Moves to the next key, or to the first one without a position (`MDB_NEXT`).
  ///
  /// After ``remove()`` this is the key after the removed one.
  public func next() throws(LMDBError) -> Entry? { try handle.move(MDB_NEXT) }

  /// Moves to the previous key, or to the last one without a position (`MDB_PREV`).
  public func previous() throws(LMDBError) -> Entry? { try handle.move(MDB_PREV) }

  /// Moves to the smallest key not less than `key` (`MDB_SET_RANGE`). `key` must not be empty.
  public func seek(toKeyAtOrAfter key: UnsafeRawBufferPointer) throws(LMDBError) -> Entry? {
    try unsafe handle.seek(toKeyAtOrAfter: key)
  }

  /// The current entry (`MDB_GET_CURRENT`), or `nil` without one.
  public func current() throws(LMDBError) -> Entry? { try handle.move(MDB_GET_CURRENT) }

  // MARK: - Changing

  /// Removes the current entry (`mdb_cursor_del`). Write transactions only.
  ///
  /// - Throws: `.permissionDenied` in a read transaction, `.invalidArgument` without a position.
  public func remove() throws(LMDBError) {
    guard let writer else {
      throw LMDBError(
        code: .permissionDenied, operation: FaultInjection.Call.cursorDel.rawValue,
        message: "This cursor belongs to a read transaction. Use one of a write transaction.")
    }
    try writer.control.pointee.writer.checkNotDoomed(.cursorDel)
    let status = handle.remove()
    guard status == MDB_SUCCESS else { throw writer.writeError(status, .cursorDel) }
  }
}

extension Cursor {
  /// A key and its value, in the map.
  @safe public struct Entry {
    public let key: UnsafeRawBufferPointer
    public let value: UnsafeRawBufferPointer
  }
}
