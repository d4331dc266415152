import CSQLite
import Foundation

struct SQLiteError: LocalizedError, CustomStringConvertible {
  let code: Int32
  let message: String

  /// Whether the file is damaged or not a database. Interrupted means that it exceeded the step limit.
  var isDamage: Bool { [SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_INTERRUPT].contains(code & 0xFF) }

  var errorDescription: String? { description }
  var description: String { "SQLite: \(message) (\(code))" }
}
