import EFStorageCore
public import Foundation
import FoundationArchives

/// A type with a property list form: the numbers, `String`, `Bool`, `Data`, `Date`, `URL`, `UUID`, and arrays and
/// string-keyed dictionaries of them. Other types conform to ``UserDefaultsStorable``.
public protocol AsIsUserDefaultsStorable: UserDefaultsStorable {}

extension AsIsUserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { .success(self) }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? {
    // A single look: between two, another thread may change the object.
    LoadingErrors.noting(forKey: key) {
      guard let object = userDefaults.object(forKey: key) else { return nil }
      guard let value = PropertyListValue.read(Self.self, from: object) else {
        throw UserDefaultsStorableError(stored: object, Self.self)
      }
      return value
    }
  }
}
