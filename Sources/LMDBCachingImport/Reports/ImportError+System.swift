import Platform

extension ImportError {
  /// The error for a system error on the source.
  init(_ error: SystemError, of path: String) {
    if error.finding != nil {
      self.init(.foreignSource, "\(path) cannot be imported: \(error)", underlying: error)
      return
    }
    switch error.errno {
    case ENOENT: self.init(.sourceNotFound, "There is nothing at \(path).", underlying: error)
    case ENOTDIR:
      self.init(.foreignSource, "\(path) is no directory, or is below something that is none.", underlying: error)
    case EACCES, EPERM:
      self.init(
        .permissionDenied, "\(path) cannot be read: no permission. Give this user read access.", underlying: error)
    default: self.init(.unreadableSource, "\(path) cannot be read.", underlying: error)
    }
  }
}

func reading<R: ~Copyable>(
  _ path: @autoclosure () -> String, _ body: () throws(SystemError) -> R
) throws(ImportError) -> R {
  do throws(SystemError) { return try body() } catch { throw ImportError(error, of: path()) }
}
