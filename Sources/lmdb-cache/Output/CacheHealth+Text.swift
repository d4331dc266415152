import LMDBCaching

extension CacheHealth {
  /// "healthy", or the problem.
  var text: String {
    switch self {
    case .healthy: "healthy"
    case .memoryOnly(let error): "\(error)"
    case .closed: "closed"
    }
  }
}
