import EFStorageCore
public import Foundation

/// A type whose values can be the content of an ``EFStorageUserDefaultsRef``.
///
/// For types that are `Codable`, `NSCoding`, or `RawRepresentable` by a storable type, saying so is enough: Codable values
/// are stored as JSON, and NSCoding objects as `NSKeyedArchiver` archives them, in a `Data`.
public protocol UserDefaultsStorable {
  /// What is to be stored, as a value that a property list can hold.
  func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error>

  /// The value under `key`; nil: there is none, or it cannot be read as this type.
  static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self?

  /// The value under `key`; nil: there is none. Throws if there is something that cannot be read as this type.
  ///
  /// Without an implementation of your own it is ``fromUserDefaults(_:forKey:)``, and an error where that returns nil
  /// though there is an object.
  static func loadFromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) throws -> Self?
}

extension UserDefaultsStorable {
  public static func loadFromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) throws -> Self? {
    let (value, error) = LoadingErrors.collecting { fromUserDefaults(userDefaults, forKey: key) }
    if let value { return value }
    if let error { throw error }
    if let object = userDefaults.object(forKey: key) { throw UserDefaultsStorableError(stored: object, Self.self) }
    return nil
  }
}
