#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// A failure in LMDB, or in a system call made for it.
///
/// Match on ``code``; ``message`` is for people and says how to recover. "Not found" is never an error in this module:
/// lookups return `nil` or `false` instead.
public struct LMDBError: LocalizedError, Sendable, Equatable, CustomStringConvertible {
  /// The kind of failure.
  public var code: Code

  /// The status that the C function returned: an `MDB_*` code (negative), an `errno` (positive), or 0 for a failure
  /// that this module detected.
  public var status: Int32

  /// The C function that failed, for example `mdb_txn_begin`, or the Swift function for this module's own errors.
  public var operation: String

  /// The failure's meaning and how the caller can recover.
  public var message: String

  package init(code: Code, status: Int32 = 0, operation: String, message: String? = nil) {
    self.code = code
    self.status = status
    self.operation = operation
    self.message = message ?? code.remedy
  }

  public var errorDescription: String? { message }
  public var description: String { "\(operation): \(message) \(identification)" }

  /// The operation and status without the message.
  package var origin: String { "\(operation) \(identification)" }

  private var identification: String { status == 0 ? "[\(code)]" : "[\(code), status \(status)]" }
}
