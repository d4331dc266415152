enum ChangeCause {
  case write
  case eviction
  case expiry

  func change(of key: String, exists: Bool) -> CacheChange {
    if exists { return .set(key: key) }
    return switch self {
    case .write: .removed(key: key)
    case .eviction: .evicted(key: key)
    case .expiry: .expired(key: key)
    }
  }
}
