import EFStorageCore

extension KeychainAccessStorable where Self: RawRepresentable, RawValue: KeychainAccessStorable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> {
    rawValue.asKeychainAccessStorable()
  }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? { value(in: keychain, key) }

  fileprivate static func value(in keychain: Keychain, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let rawValue = try RawValue.loadFromKeychain(keychain, forKey: key) else { return nil }
      guard let value = Self(rawValue: rawValue) else { throw unreadable }
      return value
    }
  }
}

// A type that is both, such as an enumeration that is also Codable, is stored as its raw value.
extension KeychainAccessStorable where Self: RawRepresentable & Codable, RawValue: KeychainAccessStorable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> {
    rawValue.asKeychainAccessStorable()
  }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? { value(in: keychain, key) }
}
