import LMDBCaching
import LMDBCachingImport

extension ToolError {
  init(_ error: ImportError) {
    if error.code == .cacheFailed, let underlying = error.underlying as? CacheError {
      self.init(underlying)
      return
    }
    let status: ExitStatus =
      switch error.code {
      case .sourceNotFound: .noInput
      case .foreignSource, .damagedSource, .encryptedSource: .dataError
      case .sourceInUse: .busy
      case .permissionDenied: .noPermission
      case .unreadableSource: .inputOutput
      case .invalidArgument: .usage
      default: .software
      }
    self.init(status, error.message + (error.underlying.map { " (\($0))" } ?? ""))
  }
}
