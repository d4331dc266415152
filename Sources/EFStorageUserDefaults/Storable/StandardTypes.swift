import EFStorageCore
public import Foundation
import FoundationArchives

#if canImport(CoreGraphics)
  public import CoreGraphics
#endif

extension String: AsIsUserDefaultsStorable {}
extension Bool: AsIsUserDefaultsStorable {}
extension Data: AsIsUserDefaultsStorable {}
extension Date: AsIsUserDefaultsStorable {}

extension Int: AsIsUserDefaultsStorable {}
extension Int8: AsIsUserDefaultsStorable {}
extension Int16: AsIsUserDefaultsStorable {}
extension Int32: AsIsUserDefaultsStorable {}
extension Int64: AsIsUserDefaultsStorable {}
extension UInt: AsIsUserDefaultsStorable {}
extension UInt8: AsIsUserDefaultsStorable {}
extension UInt16: AsIsUserDefaultsStorable {}
extension UInt32: AsIsUserDefaultsStorable {}
extension UInt64: AsIsUserDefaultsStorable {}
extension Float: AsIsUserDefaultsStorable {}
extension Double: AsIsUserDefaultsStorable {}
extension CGFloat: AsIsUserDefaultsStorable {}

extension Decimal: AsIsUserDefaultsStorable {}
extension URL: AsIsUserDefaultsStorable {}
extension UUID: AsIsUserDefaultsStorable {}

extension Optional: AsIsUserDefaultsStorable where Wrapped: AsIsUserDefaultsStorable {}

/// Storing `nil` removes the object, as user defaults have no null. A `nil` inside a nested optional cannot be stored.
extension Optional: UserDefaultsStorable where Wrapped: UserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> {
    guard let self else { return .success(String?.none) }
    // Reading could not distinguish it from the outer nil.
    if PropertyListValue.unwrapped(self) == nil { return .failure(UserDefaultsStorableError.innerNil(Self.self)) }
    return self.asUserDefaultsStorable()
  }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Wrapped?? {
    LoadingErrors.noting(forKey: key) { try loadFromUserDefaults(userDefaults, forKey: key) }
  }

  public static func loadFromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) throws -> Wrapped?? {
    try Wrapped.loadFromUserDefaults(userDefaults, forKey: key).map(Optional.some)
  }
}

extension NSString: UserDefaultsStorable {}
extension NSNumber: UserDefaultsStorable {}
extension NSArray: UserDefaultsStorable {}
