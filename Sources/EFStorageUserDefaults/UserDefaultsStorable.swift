import EFStorageCore
public import Foundation
import FoundationArchives

#if canImport(CoreGraphics)
  public import CoreGraphics
#endif

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

extension UserDefaultsStorable where Self: Codable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> {
    Result { try JSON.data(of: self) }
  }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      try Data.loadFromUserDefaults(userDefaults, forKey: key).map { try JSON.value(Self.self, from: $0) }
    }
  }
}

extension UserDefaultsStorable where Self: NSCoding {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { archived() }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? {
    unarchived(userDefaults, key)
  }

  fileprivate func archived() -> Result<any AsIsUserDefaultsStorable, any Error> {
    Result { try KeyedArchive.data(of: self, as: Self.self) }
  }

  fileprivate static func unarchived(_ userDefaults: UserDefaults, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      try Data.loadFromUserDefaults(userDefaults, forKey: key).map { try KeyedArchive.object(Self.self, from: $0) }
    }
  }
}

// A class that is both is stored as its coder says.
extension UserDefaultsStorable where Self: NSCoding & Codable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> { archived() }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Self? {
    unarchived(userDefaults, key)
  }
}

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

extension Array: AsIsUserDefaultsStorable where Element: AsIsUserDefaultsStorable {}
extension Dictionary: AsIsUserDefaultsStorable where Key == String, Value: AsIsUserDefaultsStorable {}

extension Array: UserDefaultsStorable where Element: UserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> {
    if let self = self as? any AsIsUserDefaultsStorable { return .success(self) }
    return Result { ConvertedObject(object: try map { try PropertyListValue.element($0) }) }
  }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> [Element]? {
    reading(userDefaults, key) { object in
      guard let objects = object as? [Any] else { return nil }
      let defaults = ElementDefaults()
      var elements: [Element] = []
      for object in objects {
        guard let element = try defaults.read(Element.self, from: object) else { return nil }
        elements.append(element)
      }
      return elements
    }
  }
}

/// Stored as an array, in an order that depends only on the elements, except dictionaries.
extension Set: UserDefaultsStorable where Element: UserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> {
    Result {
      let objects = try map { element in
        let object = try PropertyListValue.element(element)
        return (object, (object as? Data)?.base64EncodedString() ?? "\(object)")
      }
      return ConvertedObject(object: objects.sorted { $0.1.utf8.lexicographicallyPrecedes($1.1.utf8) }.map { $0.0 })
    }
  }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> Set<Element>? {
    LoadingErrors.noting(forKey: key) { try [Element].loadFromUserDefaults(userDefaults, forKey: key).map { Set($0) } }
  }
}

extension Dictionary: UserDefaultsStorable where Key == String, Value: UserDefaultsStorable {
  public func asUserDefaultsStorable() -> Result<any AsIsUserDefaultsStorable, any Error> {
    if let self = self as? any AsIsUserDefaultsStorable { return .success(self) }
    return Result {
      ConvertedObject(object: PropertyListValue.storedDictionary(try mapValues { try PropertyListValue.element($0) }))
    }
  }

  public static func fromUserDefaults(_ userDefaults: UserDefaults, forKey key: String) -> [String: Value]? {
    reading(userDefaults, key) { object in
      guard let entries = PropertyListValue.entries(of: object) else { return nil }
      let defaults = ElementDefaults()
      var values: [String: Value] = [:]
      for (name, object) in entries {
        guard let value = try defaults.read(Value.self, from: object) else { return nil }
        values[name] = value
      }
      return values
    }
  }
}

extension UserDefaultsStorable {
  /// Reads a collection as it is, or else with `convert`, which returns `nil` for other objects.
  fileprivate static func reading(
    _ userDefaults: UserDefaults, _ key: String, convert: (Any) throws -> Self?
  ) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let object = userDefaults.object(forKey: key) else { return nil }
      let value =
        Self.self is any AsIsUserDefaultsStorable.Type
        ? PropertyListValue.read(Self.self, from: object) : try convert(object)
      guard let value else { throw UserDefaultsStorableError(stored: object, Self.self) }
      return value
    }
  }
}

/// Defaults with one object under every key, from which elements read themselves.
private final class ElementDefaults: UserDefaults {
  private var element: Any?

  init() { super.init(suiteName: nil)! }

  override func object(forKey defaultName: String) -> Any? { element }

  func read<Element: UserDefaultsStorable>(_ type: Element.Type, from object: Any) throws -> Element? {
    element = PropertyListValue.unwrapped(object)
    return try Element.loadFromUserDefaults(self, forKey: "")
  }
}

/// A value that user defaults cannot hold, or do not hold.
///
/// Match on ``code``; the message is for people and may change between versions.
public struct UserDefaultsStorableError: LocalizedError, Sendable, CustomStringConvertible {
  /// The kind of failure. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// A property list cannot hold the value. Nothing was written.
    public static let unstorable = Code("unstorable")
    /// Something is stored that cannot be read as the type. It is kept.
    public static let unreadable = Code("unreadable")
  }

  public let code: Code
  /// What happened, and what can be done about it.
  public let message: String
  /// The failure beneath this one, where there is one.
  public let underlying: (any Error)?

  init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  public var errorDescription: String? { message }
  public var description: String { "\(code): \(message)" + (underlying.map { " (\($0))" } ?? "") }

  static func innerNil(_ type: Any.Type) -> Self {
    Self(
      .unstorable,
      "A property list cannot tell the inner nil of a \(type) from the outer one. Store another type, or remove it.")
  }

  static let keyWithMark = Self(
    .unstorable, "Foundation on Linux drops a U+FEFF at the start of a key when it reads the file. Use another key.")

  init(stored object: Any?, _ type: Any.Type) {
    let object = object.map { "a \(Swift.type(of: $0))" } ?? "something"
    self.init(.unreadable, "What is stored is \(object) that cannot be read as \(type). Remove or replace it.")
  }
}
