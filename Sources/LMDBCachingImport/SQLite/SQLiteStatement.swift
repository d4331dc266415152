import CSQLite
import Foundation

/// A statement of a ``SQLiteDatabase`` with its current row.
final class SQLiteStatement {
  private let statement: OpaquePointer
  private let database: SQLiteDatabase

  init(_ statement: OpaquePointer, of database: SQLiteDatabase) {
    self.statement = statement
    self.database = database
  }

  // Returns the status of the last step, which was checked.
  deinit { sqlite3_finalize(statement) }

  /// Starts over with new parameters.
  func restart(_ values: Int64...) throws(SQLiteError) {
    // Returns the status of the last step, which was checked.
    sqlite3_reset(statement)
    for (index, value) in values.enumerated() {
      let status = sqlite3_bind_int64(statement, Int32(index + 1), value)
      if status != SQLITE_OK { throw database.error(status) }
    }
  }

  /// Moves to the next row. Returns `false` at the end.
  func step() throws(SQLiteError) -> Bool {
    let status = sqlite3_step(statement)
    switch status {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw database.error(status)
    }
  }

  /// An integer column; `nil` for other types.
  func integer(_ column: Int32) -> Int64? {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_INTEGER: sqlite3_column_int64(statement, column)
    case SQLITE_FLOAT: Int64(exactly: sqlite3_column_double(statement, column).rounded(.down))
    default: nil
    }
  }

  enum Text {
    case null
    case text(String)
    /// Not text, or invalid UTF-8.
    case other
  }

  func text(_ column: Int32) -> Text {
    switch sqlite3_column_type(statement, column) {
    case SQLITE_NULL: return .null
    case SQLITE_TEXT:
      guard let start = sqlite3_column_text(statement, column) else { return .other }
      let bytes = UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
      return String(validating: bytes, as: UTF8.self).map { .text($0) } ?? .other
    default: return .other
    }
  }

  /// A column's bytes; `nil` for null.
  func data(_ column: Int32) throws(SQLiteError) -> Data? {
    if sqlite3_column_type(statement, column) == SQLITE_NULL { return nil }
    let start = sqlite3_column_blob(statement, column)
    let count = Int(sqlite3_column_bytes(statement, column))
    if let start { return Data(bytes: start, count: count) }
    // Null for an empty blob or out of memory.
    if database.lastCode == SQLITE_NOMEM { throw database.error(SQLITE_NOMEM) }
    return Data()
  }
}
