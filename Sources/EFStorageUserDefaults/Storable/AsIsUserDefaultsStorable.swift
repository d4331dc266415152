public import Foundation
import FoundationArchives

/// A type that a property list holds as it is: the numbers, `String`, `Bool`, `Data`, `Date`, and arrays and dictionaries
/// of them. Other types conform to ``UserDefaultsStorable``.
public protocol AsIsUserDefaultsStorable: UserDefaultsStorable {}

extension AsIsUserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { .success(self) }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? {
    userDefaults.object(forKey: key).flatMap { PropertyListValue.read(Self.self, from: $0) }
  }
}
