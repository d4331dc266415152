public import Foundation

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

extension Array: AsIsUserDefaultsStorable, UserDefaultsStorable where Element: AsIsUserDefaultsStorable {}
extension Dictionary: AsIsUserDefaultsStorable, UserDefaultsStorable
where Key == String, Value: AsIsUserDefaultsStorable {}

extension URL: UserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { .success(absoluteString) }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> URL? {
    String.fromUserDefaults(userDefaults, forKey: key).flatMap { URL(string: $0) }
  }
}

extension UUID: UserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { .success(uuidString) }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> UUID? {
    String.fromUserDefaults(userDefaults, forKey: key).flatMap { UUID(uuidString: $0) }
  }
}

extension Optional: AsIsUserDefaultsStorable where Wrapped: AsIsUserDefaultsStorable {}

/// User defaults have no null: storing nil removes what is there.
extension Optional: UserDefaultsStorable where Wrapped: UserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> {
    self?.asUserDefaultsStorable() ?? .success(String?.none)
  }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Wrapped?? {
    Wrapped.fromUserDefaults(userDefaults, forKey: key).map(Optional.some)
  }

  public static func loadFromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) throws -> Wrapped?? {
    try Wrapped.loadFromUserDefaults(userDefaults, forKey: key).map(Optional.some)
  }
}

extension NSString: UserDefaultsStorable {}
extension NSNumber: UserDefaultsStorable {}
extension NSArray: UserDefaultsStorable {}
