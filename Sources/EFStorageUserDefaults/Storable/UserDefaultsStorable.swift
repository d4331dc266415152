import EFStorageCore
public import Foundation

/// A type whose values can be the content of an ``EFStorageUserDefaultsRef``.
///
/// For `Codable`, `NSCoding`, or `RawRepresentable` types with storable raw values, declaring it is enough. Codable
/// values are stored as JSON and NSCoding objects as archives of `NSKeyedArchiver`, in a `Data`.
public protocol UserDefaultsStorable {
  /// Returns the property list value to store.
  func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error>

  /// Returns the value under `key`, or `nil` if it is missing or unreadable as this type.
  static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self?

  /// Returns the value under `key`, or `nil` if it is missing; throws if it is unreadable as this type.
  ///
  /// By default it calls ``fromUserDefaults(_:forKey:)``, and throws if that returns `nil` for an existing object.
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
