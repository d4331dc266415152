import LMDBCaching

extension CacheHealth {
  /// "healthy", or what is the matter.
  var text: String {
    switch self {
    case .healthy: "healthy"
    case .memoryOnly(let error): "\(error)"
    case .closed: "closed"
    }
  }
}
