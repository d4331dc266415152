import EFStorageCore

/// A type whose values can be the content of an ``EFStorageKeychainAccessRef``.
///
/// For types that are `Codable`, `NSCoding`, or `RawRepresentable` by a storable type, saying so is enough: Codable values
/// are stored as JSON, and NSCoding objects as `NSKeyedArchiver` archives them.
public protocol KeychainAccessStorable {
  /// Returns what is to be stored.
  func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error>

  /// Returns the value under `key`, or `nil` if there is none or it cannot be read as this type.
  static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self?

  /// Returns the value under `key`, or `nil` if there is none, and throws if there is something that cannot be read as
  /// this type, or if the keychain cannot be asked.
  ///
  /// Without an implementation of your own it calls ``fromKeychain(_:forKey:)``, and throws if that returns `nil` though
  /// there is an item.
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

  /// Does not say what is stored, which is a secret.
  static var unreadable: KeychainError {
    KeychainError(.conversion, "The item cannot be read as \(Self.self). Remove or replace it.")
  }
}
