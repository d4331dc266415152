import EFStorageCore
public import Foundation
import FoundationArchives

/// A type for which property lists have a form: the numbers, `String`, `Bool`, `Data`, `Date`, `URL`, `UUID`, and arrays
/// and string-keyed dictionaries of them. Other types conform to ``UserDefaultsStorable``.
public protocol AsIsUserDefaultsStorable: UserDefaultsStorable {}

extension AsIsUserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { .success(self) }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? {
    // One look at the defaults: between two, another thread can remove or replace what is there.
    LoadingErrors.noting(forKey: key) {
      guard let object = userDefaults.object(forKey: key) else { return nil }
      guard let value = PropertyListValue.read(Self.self, from: object) else {
        throw UserDefaultsStorableError(stored: object, Self.self)
      }
      return value
    }
  }
}
