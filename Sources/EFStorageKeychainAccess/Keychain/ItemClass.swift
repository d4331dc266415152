/// What an item is for: each class has a schema of its own in the service.
public enum ItemClass: Sendable, Hashable {
  case genericPassword
  case internetPassword
}

extension ItemClass: RawRepresentable, CustomStringConvertible {
  public init?(rawValue: String) {
    switch rawValue {
    case "genp": self = .genericPassword
    case "inet": self = .internetPassword
    default: return nil
    }
  }

  /// Apple's code, as in KeychainAccess.
  public var rawValue: String {
    switch self {
    case .genericPassword: "genp"
    case .internetPassword: "inet"
    }
  }

  public var description: String {
    switch self {
    case .genericPassword: "GenericPassword"
    case .internetPassword: "InternetPassword"
    }
  }
}

extension ItemClass {
  /// The name of the schema, by which an item of this package is told from others'.
  var schema: String {
    switch self {
    case .genericPassword: "org.lmdbcaching.Keychain.GenericPassword"
    case .internetPassword: "org.lmdbcaching.Keychain.InternetPassword"
    }
  }
}
