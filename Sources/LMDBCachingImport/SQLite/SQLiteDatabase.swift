import CSQLite
import Foundation

/// An untrusted, read-only database. This file and ``SQLiteStatement`` contain all calls of SQLite. Single-threaded.
final class SQLiteDatabase {
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
    let status = sqlite3_open_v2(
      Self.uri(path, mode), &opened, access | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE, nil)
    guard let opened else { throw SQLiteError(code: status, message: "there is no memory to open it") }
    connection = opened
    if status != SQLITE_OK { throw error(status) }
    sqlite3_extended_result_codes(connection, 1)
    sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, Int32(clamping: lengthLimit))
    // Do not trust functions in the schema, and check pages' own claims. Read the schema now and with a step limit, as
    // cyclic pages never end.
    sqlite3_progress_handler(connection, Self.greatestSchemaSteps, { _ in 1 }, nil)
    defer { sqlite3_progress_handler(connection, 0, nil, nil) }
    try execute(
      "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON; "
        + "SELECT 1 FROM main.sqlite_master LIMIT 1")
  }

  /// SQLite instructions; a schema takes some thousands.
  private static let greatestSchemaSteps: Int32 = 1_000_000

  // Its statements, which retain it, are finalized by now.
  deinit { sqlite3_close_v2(connection) }

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
    SQLiteError(code: code, message: String(cString: sqlite3_errmsg(connection)))
  }

  var lastCode: Int32 { sqlite3_extended_errcode(connection) }

  private func execute(_ sql: String) throws(SQLiteError) {
    let status = sqlite3_exec(connection, sql, nil, nil, nil)
    if status != SQLITE_OK { throw error(status) }
  }

  func prepare(_ sql: String) throws(SQLiteError) -> SQLiteStatement {
    var statement: OpaquePointer?
    let status = sqlite3_prepare_v2(connection, sql, -1, &statement, nil)
    guard status == SQLITE_OK, let statement else { throw error(status) }
    return SQLiteStatement(statement, of: self)
  }
}
