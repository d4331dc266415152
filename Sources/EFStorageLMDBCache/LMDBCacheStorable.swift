import EFStorageCore
public import Foundation
public import LMDBCaching

#if canImport(CoreGraphics)
  public import CoreGraphics
#endif

/// A type whose values can be the content of an ``EFStorageLMDBCacheRef``.
///
/// For `Codable`, `NSCoding`, or `RawRepresentable` types with storable raw values, declaring it is enough:
///
/// ```swift
/// struct Session: Codable, LMDBCacheStorable {
///   var user: String
///   var token: Data
/// }
/// ```
///
/// To port a YYCache conformance, only change the names: both take NSCoding objects.
public protocol LMDBCacheStorable {
  /// Returns the object to store: an NSCoding object, or a `CacheValue` with a Codable value, which is faster.
  func asLMDBCacheStorable() -> Result<any NSCoding, any Error>

  /// Returns the value under `key`, or `nil` if it is missing or unreadable as this type.
  static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self?

  /// Returns the value under `key`, or `nil` if it is missing; throws if it is unreadable as this type.
  ///
  /// By default it calls ``fromLMDBCache(_:forKey:)``, and throws if that returns `nil` for an existing entry.
  static func loadFromLMDBCache(_ cache: LMDBCache, forKey key: String) throws -> Self?
}

extension LMDBCacheStorable {
  public static func loadFromLMDBCache(_ cache: LMDBCache, forKey key: String) throws -> Self? {
    try LoadingErrors.load(forKey: key) {
      try cache.contains(key)
    } read: {
      fromLMDBCache(cache, forKey: key)
    } unreadable: {
      unreadable(key)
    }
  }

  static func unreadable(_ key: String, underlying: (any Error)? = nil) -> CacheError {
    CacheError(
      .decodingFailed, "The entry \"\(key)\" cannot be read as \(Self.self). It is kept; remove or replace it.",
      underlying: underlying)
  }
}

extension String: LMDBCacheStorable {}
extension Bool: LMDBCacheStorable {}
extension Int: LMDBCacheStorable {}
extension Int8: LMDBCacheStorable {}
extension Int16: LMDBCacheStorable {}
extension Int32: LMDBCacheStorable {}
extension Int64: LMDBCacheStorable {}
extension UInt: LMDBCacheStorable {}
extension UInt8: LMDBCacheStorable {}
extension UInt16: LMDBCacheStorable {}
extension UInt32: LMDBCacheStorable {}
extension UInt64: LMDBCacheStorable {}
extension Float: LMDBCacheStorable {}
extension Double: LMDBCacheStorable {}
extension CGFloat: LMDBCacheStorable {}
extension Decimal: LMDBCacheStorable {}
extension Data: LMDBCacheStorable {}
extension Date: LMDBCacheStorable {}
extension URL: LMDBCacheStorable {}
extension UUID: LMDBCacheStorable {}

extension NSString: LMDBCacheStorable {}
extension NSNumber: LMDBCacheStorable {}
extension NSData: LMDBCacheStorable {}
extension NSDate: LMDBCacheStorable {}
extension NSURL: LMDBCacheStorable {}
extension NSUUID: LMDBCacheStorable {}
extension NSArray: LMDBCacheStorable {}
extension NSDictionary: LMDBCacheStorable {}
extension NSSet: LMDBCacheStorable {}

// A type with a conversion for Storez always uses it here, so that typed keys and properties can share values.

extension LMDBCacheStorable where Self: LMDBConvertible {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { converted() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { conversion(in: cache, key) }
}

extension LMDBCacheStorable where Self: LMDBConvertible & Codable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { converted() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { conversion(in: cache, key) }
}

extension LMDBCacheStorable where Self: LMDBConvertible & NSCoding {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { converted() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { conversion(in: cache, key) }
}

extension LMDBCacheStorable where Self: LMDBConvertible & NSCoding & Codable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { converted() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { conversion(in: cache, key) }
}

extension LMDBCacheStorable where Self: LMDBConvertible & RawRepresentable, RawValue: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { converted() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { conversion(in: cache, key) }
}

extension LMDBCacheStorable where Self: LMDBConvertible & RawRepresentable & Codable, RawValue: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { converted() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { conversion(in: cache, key) }
}

extension LMDBCacheStorable where Self: LMDBConvertible {
  fileprivate func converted() -> Result<any NSCoding, any Error> { Result { CacheValue.make(try storedForm()) } }

  fileprivate static func conversion(in cache: LMDBCache, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) { try convertedValue(in: cache, forKey: key) }
  }
}

extension LMDBCacheStorable where Self: Codable {
  @inlinable
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { .success(CacheValue.make(self)) }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? {
    LoadingErrors.noting(forKey: key) { try cache.sharedValue(Self.self, forKey: key) }
  }
}

extension LMDBCacheStorable where Self: NSCoding {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { .success(self) }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { object(in: cache, key) }

  fileprivate static func object(in cache: LMDBCache, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let object = try cache.object(forKey: key) else { return nil }
      guard let object = object as? Self else {
        throw CacheError(
          .typeMismatch, "The object under \"\(key)\" is a \(type(of: object)), not a \(Self.self). It is kept.")
      }
      return object
    }
  }
}

// A class that is both is stored as its coder says.
extension LMDBCacheStorable where Self: NSCoding & Codable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { .success(self) }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { object(in: cache, key) }
}

extension LMDBCacheStorable where Self: RawRepresentable, RawValue: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { rawValue.asLMDBCacheStorable() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { value(in: cache, key) }

  fileprivate static func value(in cache: LMDBCache, _ key: String) -> Self? {
    LoadingErrors.noting(forKey: key) {
      guard let rawValue = try RawValue.loadFromLMDBCache(cache, forKey: key) else { return nil }
      guard let value = Self(rawValue: rawValue) else { throw unreadable(key) }
      return value
    }
  }
}

// A type that is both, such as an enumeration that is also Codable, is stored as its raw value.
extension LMDBCacheStorable where Self: RawRepresentable & Codable, RawValue: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { rawValue.asLMDBCacheStorable() }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Self? { value(in: cache, key) }
}

// Collections of Codable elements are Codable values; others are collections of raw values.

extension Array: LMDBCacheStorable where Element: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { collected(self) }
  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> [Element]? { collection(in: cache, key) }
}

extension Set: LMDBCacheStorable where Element: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { collected(self) }
  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Set<Element>? {
    collection(in: cache, key)
  }
}

extension Dictionary: LMDBCacheStorable where Key: LMDBCacheStorable & Codable, Value: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> { collected(self) }
  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> [Key: Value]? {
    collection(in: cache, key)
  }
}

private func collected(_ collection: some LMDBCacheStorable) -> Result<any NSCoding, any Error> {
  if let value = collection as? any Codable { return .success(CacheValue.make(value)) }
  if let rawValues = (collection as? any RawCollection)?.rawCollection as? any LMDBCacheStorable {
    return rawValues.asLMDBCacheStorable()
  }
  return .failure(
    CacheError(.encodingFailed, "The elements of \(type(of: collection)) cannot be stored. Make their type Codable."))
}

extension LMDBCacheStorable {
  fileprivate static func collection(in cache: LMDBCache, _ key: String) -> Self? {
    func value<Value: Codable>(_ type: Value.Type) throws -> Self? { try cache.sharedValue(type, forKey: key) as? Self }
    return LoadingErrors.noting(forKey: key) {
      if let type = self as? any Codable.Type { return try value(type) }
      guard let type = self as? any RawCollection.Type, let rawType = type.rawType as? any LMDBCacheStorable.Type else {
        throw unreadable(key)
      }
      guard let rawValues = try rawType.loadFromLMDBCache(cache, forKey: key) else { return nil }
      guard let value = type.init(anyRawCollection: rawValues) as? Self else { throw unreadable(key) }
      return value
    }
  }
}

private protocol RawCollection {
  associatedtype Raw
  var rawCollection: Raw { get }
  init?(rawCollection: Raw)
}

extension RawCollection {
  fileprivate static var rawType: Any.Type { Raw.self }

  fileprivate init?(anyRawCollection: Any) {
    guard let raw = anyRawCollection as? Raw else { return nil }
    self.init(rawCollection: raw)
  }
}

extension Array: RawCollection where Element: RawRepresentable {
  fileprivate var rawCollection: [Element.RawValue] { map(\.rawValue) }

  fileprivate init?(rawCollection: [Element.RawValue]) {
    self = rawCollection.compactMap(Element.init)
    if count != rawCollection.count { return nil }
  }
}

extension Set: RawCollection where Element: RawRepresentable, Element.RawValue: Hashable {
  fileprivate var rawCollection: Set<Element.RawValue> { Set<Element.RawValue>(lazy.map(\.rawValue)) }

  fileprivate init?(rawCollection: Set<Element.RawValue>) {
    self.init(rawCollection.lazy.compactMap(Element.init))
    if count != rawCollection.count { return nil }
  }
}

extension Dictionary: RawCollection where Value: RawRepresentable {
  fileprivate var rawCollection: [Key: Value.RawValue] { mapValues(\.rawValue) }

  fileprivate init?(rawCollection: [Key: Value.RawValue]) {
    self = rawCollection.compactMapValues(Value.init)
    if count != rawCollection.count { return nil }
  }
}

/// A stored `nil` is not a missing entry: it overrides a default. A `nil` inside a nested optional cannot be stored.
extension Optional: LMDBCacheStorable where Wrapped: LMDBCacheStorable {
  public func asLMDBCacheStorable() -> Result<any NSCoding, any Error> {
    guard let self else { return .success(CacheValue.make(NullValue())) }
    // Reading could not distinguish it from the outer nil.
    if (self as? any StorableOptional)?.isNil == true {
      return .failure(
        CacheError(
          .encodingFailed, "The inner nil of a \(Self.self) cannot be told from the outer one. Store another type."))
    }
    return self.asLMDBCacheStorable()
  }

  public static func fromLMDBCache(_ cache: LMDBCache, forKey key: String) -> Wrapped?? {
    LoadingErrors.noting(forKey: key) { try loadFromLMDBCache(cache, forKey: key) }
  }

  public static func loadFromLMDBCache(_ cache: LMDBCache, forKey key: String) throws -> Wrapped?? {
    let found = try cache.nullable(forKey: key) { () throws(CacheError) in
      do {
        return try Wrapped.loadFromLMDBCache(cache, forKey: key)
      } catch let error as CacheError {
        throw error
      } catch {
        throw Wrapped.unreadable(key, underlying: error)
      }
    }
    // A null is the outer nil, to any depth.
    if let found, let wrapped = found, (wrapped as? any StorableOptional)?.isNil == true { return .some(nil) }
    return found
  }
}

private protocol StorableOptional {
  var isNil: Bool { get }
}

extension Optional: StorableOptional {
  fileprivate var isNil: Bool { self == nil }
}
