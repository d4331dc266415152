/// The purpose of an item. Each class has its own schema in the service.
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
  /// The schema that marks items of this package.
  var schema: String {
    switch self {
    case .genericPassword: "org.lmdbcaching.Keychain.GenericPassword"
    case .internetPassword: "org.lmdbcaching.Keychain.InternetPassword"
    }
  }
}
