import EFStorageCore
public import Foundation

extension UserDefaultsStorable where Self: RawRepresentable, RawValue: UserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> {
    rawValue.asUserDefaultsStorable()
  }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? {
    value(in: userDefaults, key)
  }

  fileprivate static func value(in userDefaults: UserDefaults, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let rawValue = try RawValue.loadFromUserDefaults(userDefaults, forKey: key) else { return nil }
      guard let value = Self(rawValue: rawValue) else {
        throw UserDefaultsStorableError(
          .unreadable, "What is stored is the raw value of no \(Self.self). Remove or replace it.")
      }
      return value
    }
  }
}

// A type that is both, such as an enumeration that is also Codable, is stored as its raw value.
extension UserDefaultsStorable where Self: RawRepresentable & Codable, RawValue: UserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> {
    rawValue.asUserDefaultsStorable()
  }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? {
    value(in: userDefaults, key)
  }
}
