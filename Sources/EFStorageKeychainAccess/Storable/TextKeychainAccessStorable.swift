import EFStorageCore

/// A type that a keychain stores as its description, a readable text that keeps every value exactly.
public protocol TextKeychainAccessStorable: KeychainAccessStorable, LosslessStringConvertible {}

extension TextKeychainAccessStorable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> {
    .success(.string(description))
  }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? { text(in: keychain, key) }

  fileprivate static func text(in keychain: Keychain, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let text = try keychain.getString(key) else { return nil }
      guard let value = Self(text) else { throw unreadable }
      return value
    }
  }
}

// Takes precedence over JSON.
extension TextKeychainAccessStorable where Self: Codable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> {
    .success(.string(description))
  }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? { text(in: keychain, key) }
}
