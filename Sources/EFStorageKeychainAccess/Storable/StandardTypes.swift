import EFStorageCore
public import Foundation

extension String: KeychainAccessStorable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> { .success(.string(self)) }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> String? {
    LoadingErrors.noting(forKey: key) { try keychain.getString(key) }
  }
}

extension Data: KeychainAccessStorable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> { .success(.data(self)) }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Data? {
    LoadingErrors.noting(forKey: key) { try keychain.getData(key) }
  }
}

extension Bool: TextKeychainAccessStorable {}
extension Int: TextKeychainAccessStorable {}
extension Int8: TextKeychainAccessStorable {}
extension Int16: TextKeychainAccessStorable {}
extension Int32: TextKeychainAccessStorable {}
extension Int64: TextKeychainAccessStorable {}
extension UInt: TextKeychainAccessStorable {}
extension UInt8: TextKeychainAccessStorable {}
extension UInt16: TextKeychainAccessStorable {}
extension UInt32: TextKeychainAccessStorable {}
extension UInt64: TextKeychainAccessStorable {}
extension Float: TextKeychainAccessStorable {}
extension Double: TextKeychainAccessStorable {}

extension Date: KeychainAccessStorable {}
extension URL: KeychainAccessStorable {}
extension UUID: KeychainAccessStorable {}
extension Decimal: KeychainAccessStorable {}
extension CGFloat: KeychainAccessStorable {}
extension Array: KeychainAccessStorable where Element: KeychainAccessStorable & Codable {}
extension Set: KeychainAccessStorable where Element: KeychainAccessStorable & Codable {}
extension Dictionary: KeychainAccessStorable
where Key: KeychainAccessStorable & Codable, Value: KeychainAccessStorable & Codable {}

extension NSString: KeychainAccessStorable {}
extension NSNumber: KeychainAccessStorable {}
extension NSArray: KeychainAccessStorable {}
