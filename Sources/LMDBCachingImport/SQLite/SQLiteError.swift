import CSQLite

/// A failed call of SQLite.
struct SQLiteError: Error, CustomStringConvertible {
  /// The extended result code.
  let code: Int32
  let message: String

  /// Whether the file is no sound database.
  var isDamage: Bool { [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF) }

  var description: String { "SQLite: \(message) (\(code))" }
}
