import LMDB
import LMDBCaching

/// An error that ends the tool: a message for standard error, and an exit code.
struct ToolError: Error {
  var status: ExitStatus
  var message: String

  init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }

  init(_ error: CacheError) {
    status =
      switch error.code {
      case .damagedDatabase, .corruptedRecord: .damaged
      case .typeMismatch, .decodingFailed, .unsupportedRecord, .unsupportedVersion, .missingTransform, .untransformed:
        .dataError
      case .invalidArgument, .durabilityMismatch: .usage
      case .invalidDirectory, .remoteFileSystem, .readOnlyFileSystem: .cannotCreate
      case .permissionDenied, .insecureDirectory: .noPermission
      case .busy, .lockTimeout, .processNamespaceMismatch: .busy
      case .noSpace, .storageFailed, .notCommitted: .inputOutput
      default: .software
      }
    message = error.message
    if let underlying = error.underlying { message += " (\(underlying))" }
  }

  init(_ error: LMDBError) { self.init(.inputOutput, "\(error)") }
}
