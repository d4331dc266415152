import EFStorageCore

/// A type whose values can be the content of an ``EFStorageKeychainAccessRef``.
///
/// For `Codable`, `NSCoding`, or `RawRepresentable` types with storable raw values, declaring it is enough. Codable
/// values are stored as JSON and NSCoding objects as archives of `NSKeyedArchiver`.
public protocol KeychainAccessStorable {
  /// Returns the value to store.
  func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error>

  /// Returns the value under `key`, or `nil` if it is missing or unreadable as this type.
  static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self?

  /// Returns the value under `key`, or `nil` if it is missing; throws if it is unreadable as this type, or if the
  /// service fails.
  ///
  /// By default it calls ``fromKeychain(_:forKey:)``, and throws if that returns `nil` for an existing item.
  static func loadFromKeychain(_ keychain: Keychain, forKey key: String) throws -> Self?
}

extension KeychainAccessStorable {
  public static func loadFromKeychain(_ keychain: Keychain, forKey key: String) throws -> Self? {
    try LoadingErrors.load(forKey: key) {
      try keychain.contains(key)
    } read: {
      fromKeychain(keychain, forKey: key)
    } unreadable: {
      unreadable
    }
  }

  /// Omits the stored value, which is a secret.
  static var unreadable: KeychainError {
    KeychainError(.conversion, "The item cannot be read as \(Self.self). Remove or replace it.")
  }
}
