import EFStorageCore
public import Foundation

/// A type whose values can be the content of an ``EFStorageUserDefaultsRef``.
///
/// For types that are `Codable`, `NSCoding`, or `RawRepresentable` by a storable type, saying so is enough: Codable values
/// are stored as JSON, and NSCoding objects as `NSKeyedArchiver` archives them, in a `Data`.
public protocol UserDefaultsStorable {
  /// Returns what is to be stored, as a value that a property list can hold.
  func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error>

  /// Returns the value under `key`, or `nil` if there is none or it cannot be read as this type.
  static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self?

  /// Returns the value under `key`, or `nil` if there is none, and throws if there is something that cannot be read as
  /// this type.
  ///
  /// Without an implementation of your own it calls ``fromUserDefaults(_:forKey:)``, and throws if that returns `nil`
  /// though there is an object.
  static func loadFromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) throws -> Self?
}

extension UserDefaultsStorable {
  public static func loadFromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) throws -> Self? {
    try LoadingErrors.load(forKey: key) {
      userDefaults.object(forKey: key) != nil
    } read: {
      fromUserDefaults(userDefaults, forKey: key)
    } unreadable: {
      UserDefaultsStorableError(stored: userDefaults.object(forKey: key), Self.self)
    }
  }
}
