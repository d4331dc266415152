enum LookingCommand: String, CaseIterable, Sendable {
  case list, listAsObjects, get, getNothing, stat, prefixes, verify, verifyValues

  func words(_ cache: String) -> [String] {
    switch self {
    case .list: ["ls", "--cache", cache]
    case .listAsObjects: ["ls", "--json", "--prefix", "key:1", "--cache", cache]
    case .get: ["get", "key:1000", "--cache", cache]
    case .getNothing: ["get", "none", "--cache", cache]
    case .stat: ["stat", "--cache", cache]
    case .prefixes: ["stat", "--prefixes", "--json", "--cache", cache]
    case .verify: ["verify", cache]
    case .verifyValues: ["verify", "--values", cache]
    }
  }

  /// For a sound cache.
  var status: Int32 { self == .getNothing ? 1 : 0 }
}
