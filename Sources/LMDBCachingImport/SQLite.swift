import CSQLite
import Foundation

/// An untrusted, read-only database. This file and ``SQLiteStatement`` contain all calls of SQLite. Single-threaded.
// @safe: owns the connection.
@safe final class SQLiteDatabase {
  enum Mode {
    /// Opens the file without locks or additional files: it must not change, nor have a log.
    case immutable
    /// Lets SQLite recover the file from its log, and write to it.
    case recovering
  }

  private let connection: OpaquePointer

  /// - Parameters:
  ///   - path: Absolute.
  ///   - lengthLimit: Rows with longer values fail.
  init(path: String, _ mode: Mode, lengthLimit: Int) throws(SQLiteError) {
    var opened: OpaquePointer?
    let access = mode == .immutable ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE
    let status = unsafe sqlite3_open_v2(
      Self.uri(path, mode), &opened, access | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, nil)
    guard let opened = unsafe opened else { throw SQLiteError(code: status, message: "there is no memory to open it") }
    unsafe connection = opened
    if status != SQLITE_OK { throw error(status) }
    unsafe sqlite3_extended_result_codes(connection, 1)
    unsafe sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, Int32(clamping: lengthLimit))
    // Do not trust functions in the schema, and check pages' own claims. Read the schema now and with a step limit, as
    // cyclic pages never end.
    unsafe sqlite3_progress_handler(connection, Self.greatestSchemaSteps, { _ in 1 }, nil)
    defer { unsafe sqlite3_progress_handler(connection, 0, nil, nil) }
    try execute(
      "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON; "
        + "SELECT 1 FROM main.sqlite_master LIMIT 1")
  }

  /// SQLite instructions; a schema takes some thousands.
  private static let greatestSchemaSteps: Int32 = 1_000_000

  // Its statements, which retain it, are finalized by now.
  deinit { unsafe sqlite3_close_v2(connection) }

  private static func uri(_ path: String, _ mode: Mode) -> String {
    var uri = "file:"
    for byte in path.utf8 {
      let isPlain = byte == UInt8(ascii: "/") || byte == UInt8(ascii: ".") || UInt8(ascii: "0") <= byte && byte <= 0x39
      let isLetter = UInt8(ascii: "A") <= byte & 0xDF && byte & 0xDF <= UInt8(ascii: "Z")
      if isPlain || isLetter {
        uri.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
        uri += "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
      }
    }
    return mode == .immutable ? uri + "?immutable=1" : uri
  }

  /// The error of the last call.
  func error(_ code: Int32) -> SQLiteError {
    SQLiteError(code: code, message: unsafe String(cString: sqlite3_errmsg(connection)))
  }

  var lastCode: Int32 { unsafe sqlite3_extended_errcode(connection) }

  private func execute(_ sql: String) throws(SQLiteError) {
    let status = unsafe sqlite3_exec(connection, sql, nil, nil, nil)
    if status != SQLITE_OK { throw error(status) }
  }

  func prepare(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
    var statement: OpaquePointer?
    let status = unsafe sqlite3_prepare_v2(connection, sql, -1, &statement, nil)
    guard status == SQLITE_OK, let statement = unsafe statement else { throw error(status) }
    return unsafe SQLiteStatement(statement, of: self)
  }
}

/// A statement of a ``SQLiteDatabase`` with its current row.
// @safe: owns the statement, and retains the connection.
@safe final class SQLiteStatement {
  private let statement: OpaquePointer
  private let database: SQLiteDatabase

  init(_ statement: OpaquePointer, of database: SQLiteDatabase) {
    unsafe self.statement = statement
    self.database = database
  }

  // Returns the status of the last step, which was checked.
  deinit { unsafe sqlite3_finalize(statement) }

  /// Starts over with new parameters.
  func restart(_ values: Int64...) throws(SQLiteError) {
    // Returns the status of the last step, which was checked.
    unsafe sqlite3_reset(statement)
    for (index, value) in values.enumerated() {
      let status = unsafe sqlite3_bind_int64(statement, Int32(index + 1), value)
      if status != SQLITE_OK { throw database.error(status) }
    }
  }

  /// Moves to the next row. Returns `false` at the end.
  func step() throws(SQLiteError) -> Bool {
    let status = unsafe sqlite3_step(statement)
    switch status {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw database.error(status)
    }
  }

  private func type(_ column: Int32) -> Int32 { unsafe sqlite3_column_type(statement, column) }

  /// An integer column; `nil` for other types.
  func integer(_ column: Int32) -> Int64? {
    switch type(column) {
    case SQLITE_INTEGER: unsafe sqlite3_column_int64(statement, column)
    case SQLITE_FLOAT: unsafe Int64(exactly: sqlite3_column_double(statement, column).rounded(.down))
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
    switch type(column) {
    case SQLITE_NULL: return .null
    case SQLITE_TEXT:
      guard let start = unsafe sqlite3_column_text(statement, column) else { return .other }
      let bytes = unsafe UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
      return unsafe String(validating: bytes, as: UTF8.self).map { .text($0) } ?? .other
    default: return .other
    }
  }

  /// A column's bytes; `nil` for null.
  func data(_ column: Int32) throws(SQLiteError) -> Data? {
    if type(column) == SQLITE_NULL { return nil }
    if let start = unsafe sqlite3_column_blob(statement, column) {
      return unsafe Data(bytes: start, count: Int(sqlite3_column_bytes(statement, column)))
    }
    // Null for an empty blob or out of memory.
    if database.lastCode == SQLITE_NOMEM { throw database.error(SQLITE_NOMEM) }
    return Data()
  }
}

struct SQLiteError: LocalizedError, CustomStringConvertible {
  let code: Int32
  let message: String

  /// Whether the file is damaged or not a database. Interrupted means that it exceeded the step limit.
  var isDamage: Bool { [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_INTERRUPT].contains(code & 0xFF) }

  var errorDescription: String? { description }
  var description: String { "SQLite: \(message) (\(code))" }
}
