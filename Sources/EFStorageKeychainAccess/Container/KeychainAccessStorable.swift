import EFStorageCore
public import Foundation
import FoundationArchives

/// A type whose values can be the content of an ``EFStorageKeychainAccessRef``.
///
/// For `Codable`, `NSCoding`, or `RawRepresentable` types with storable raw values, declaring it is enough. Codable
/// values are stored as JSON and NSCoding objects as archives of `NSKeyedArchiver`.
public protocol KeychainAccessStorable {
  /// Returns the value to store.
  func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error>

  /// Returns the value under `key`, or `nil` if it is missing or unreadable as this type.
  static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self?

  /// Returns the value under `key`, or `nil` if it is missing; throws if it is unreadable as this type, or if the
  /// service fails.
  ///
  /// By default it calls ``fromKeychain(_:forKey:)``, and throws if that returns `nil` for an existing item.
  static func loadFromKeychain(_ keychain: Keychain, forKey key: String) throws -> Self?
}

extension KeychainAccessStorable {
  public static func loadFromKeychain(_ keychain: Keychain, forKey key: String) throws -> Self? {
    try LoadingErrors.load(forKey: key) {
      try keychain.contains(key)
    } read: {
      fromKeychain(keychain, forKey: key)
    } unreadable: {
      unreadable
    }
  }

  /// Omits the stored value, which is a secret.
  static var unreadable: KeychainError {
    KeychainError(.conversion, "The item cannot be read as \(Self.self). Remove or replace it.")
  }
}

/// A value that a keychain can store.
public enum AsIsKeychainAccessStorable: Hashable, Sendable {
  case string(String)
  case data(Data)
}

/// A type that a keychain stores as its description, a readable text that keeps every value exactly.
public protocol TextKeychainAccessStorable: KeychainAccessStorable, LosslessStringConvertible {}

extension TextKeychainAccessStorable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> {
    .success(.string(description))
  }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? { text(in: keychain, key) }

  fileprivate static func text(in keychain: Keychain, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let text = try keychain.get(key) else { return nil }
      guard let value = Self(text) else { throw unreadable }
      return value
    }
  }
}

// Takes precedence over JSON.
extension TextKeychainAccessStorable where Self: Codable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> {
    .success(.string(description))
  }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? { text(in: keychain, key) }
}

extension KeychainAccessStorable where Self: RawRepresentable, RawValue: KeychainAccessStorable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> {
    rawValue.asKeychainAccessStorable()
  }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? { value(in: keychain, key) }

  fileprivate static func value(in keychain: Keychain, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let rawValue = try RawValue.loadFromKeychain(keychain, forKey: key) else { return nil }
      guard let value = Self(rawValue: rawValue) else { throw unreadable }
      return value
    }
  }
}

// A type that is both, such as an enumeration that is also Codable, is stored as its raw value.
extension KeychainAccessStorable where Self: RawRepresentable & Codable, RawValue: KeychainAccessStorable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> {
    rawValue.asKeychainAccessStorable()
  }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? { value(in: keychain, key) }
}

extension KeychainAccessStorable where Self: Codable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> {
    Result { .data(try JSON.data(of: self)) }
  }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let data = try keychain.getData(key) else { return nil }
      // A decoding error would quote from the secret.
      do { return try JSON.value(Self.self, from: data) } catch { throw unreadable }
    }
  }
}

extension KeychainAccessStorable where Self: NSCoding {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> { archived() }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? { unarchived(keychain, key) }

  fileprivate func archived() -> Result<AsIsKeychainAccessStorable, any Error> {
    Result { .data(try KeyedArchive.data(of: self, as: Self.self)) }
  }

  fileprivate static func unarchived(_ keychain: Keychain, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let data = try keychain.getData(key) else { return nil }
      do { return try KeyedArchive.object(Self.self, from: data) } catch { throw unreadable }
    }
  }
}

// A class that is both is stored as its coder says.
extension KeychainAccessStorable where Self: NSCoding & Codable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> { archived() }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Self? { unarchived(keychain, key) }
}

/// Storing `nil` removes the item, as a keychain has no null.
extension Optional: KeychainAccessStorable where Wrapped: KeychainAccessStorable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> {
    self?.asKeychainAccessStorable()
      ?? .failure(KeychainError(.conversion, "A keychain cannot hold nil; remove the item."))
  }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> Wrapped?? {
    LoadingErrors.noting(forKey: key) { try Wrapped.loadFromKeychain(keychain, forKey: key).map(Optional.some) }
  }
}

protocol OptionalContent {
  var isNone: Bool { get }
}

extension Optional: OptionalContent {
  var isNone: Bool { self == nil }
}

extension String: KeychainAccessStorable {
  public func asKeychainAccessStorable() -> Result<AsIsKeychainAccessStorable, any Error> { .success(.string(self)) }

  public static func fromKeychain(_ keychain: Keychain, forKey key: String) -> String? {
    LoadingErrors.noting(forKey: key) { try keychain.get(key) }
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
