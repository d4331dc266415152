import CSQLite
import Foundation

/// A failed call of SQLite.
struct SQLiteError: LocalizedError, CustomStringConvertible {
  /// The extended result code.
  let code: Int32
  let message: String

  /// Whether the file is no sound database. What is interrupted had no end.
  var isDamage: Bool { [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_INTERRUPT].contains(code & 0xFF) }

  var errorDescription: String? { description }
  var description: String { "SQLite: \(message) (\(code))" }
}
