import EFStorageCore

/// A type whose values can be the content of an ``EFStorageKeychainAccessRef``.
///
/// For types that are `Codable`, `NSCoding`, or `RawRepresentable` by a storable type, saying so is enough: Codable values
/// are stored as JSON, and NSCoding objects as `NSKeyedArchiver` archives them.
public protocol KeychainAccessStorable {
  /// What is to be stored.
  func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error>

  /// The value under `key`; nil: there is none, or it cannot be read as this type.
  static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self?

  /// The value under `key`; nil: there is none. Throws if there is something that cannot be read as this type, or if the
  /// keychain cannot be asked.
  ///
  /// Without an implementation of your own it is ``fromKeychain(_:forKey:)``, and an error where that returns nil though
  /// there is an item.
  static func loadFromKeychain(_ keychain: Keychain, forKey key: String) throws -> Self?
}

extension KeychainAccessStorable {
  public static func loadFromKeychain(_ keychain: Keychain, forKey key: String) throws -> Self? {
    let (value, error) = LoadingErrors.collecting { fromKeychain(keychain, forKey: key) }
    if let value { return value }
    if let error { throw error }
    if try keychain.contains(key) { throw unreadable }
    return nil
  }

  /// What is stored stays out of it: it is a secret.
  static var unreadable: KeychainError {
    KeychainError(.conversion, "The item cannot be read as \(Self.self). Remove or replace it.")
  }
}
