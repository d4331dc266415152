#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What went wrong in LMDB, or in a system call made for it.
///
/// Match on ``code``; ``message`` is for people and says what to do about it. "Not found" is never an error in this
/// module: functions that look something up return `nil` or `false` instead.
public struct LMDBError: LocalizedError, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure.
  public var code: Code

  /// The status that the C function returned: an `MDB_*` code (negative), an `errno` (positive), or 0 when this
  /// module found the failure itself.
  public var status: Int32

  /// The C function that failed, for example `mdb_txn_begin`; or the Swift function for this module's own errors.
  public var operation: String

  /// What the failure means and what the caller can do about it.
  public var message: String

  /// An error with an explicit message.
  package init(code: Code, status: Int32 = 0, operation: String, message: String? = nil) {
    self.code = code
    self.status = status
    self.operation = operation
    self.message = message ?? code.remedy
  }

  public var errorDescription: String? { message }
  public var description: String { "\(operation): \(message) \(identification)" }

  /// The same without the message, for who has said that already.
  package var origin: String { "\(operation) \(identification)" }

  private var identification: String { status == 0 ? "[\(code)]" : "[\(code), status \(status)]" }
}
