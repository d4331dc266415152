public import Foundation
import FoundationArchives
public import LMDBCaching

// Keys without a store: the cache's own functions, which throw. Hooks belong to stores and are not called. Values have
// the same form as in a store, for each kind of type.

extension LMDBCache {
  // MARK: Codable types

  /// Returns the value under the key, or its default value if there is none.
  ///
  /// - Throws: as `value(_:forKey:)`.
  @_disfavoredOverload
  public func value<K: KeyType>(forKey key: K) throws(CacheError) -> K.ValueType
  where K.ValueType: Codable & Sendable {
    try value(key, CodableEntry<K.ValueType>.self)
  }

  /// The same for a nullable key. A `nil` that a property has stored is `nil`, not the default value.
  @_disfavoredOverload
  public func value<K: KeyType, V: Codable & Sendable>(forKey key: K) throws(CacheError) -> V?
  where K.ValueType == V? {
    try value(key, NullableEntry<CodableEntry<V>>.self)
  }

  /// Stores a value under the key.
  ///
  /// - Throws: as `set(_:forKey:expires:cost:tags:)`.
  @_disfavoredOverload
  public func set<K: KeyType>(
    _ value: K.ValueType, forKey key: K, expires: Expiry = .never, cost: Int? = nil
  ) throws(CacheError) where K.ValueType: Codable & Sendable {
    try set(value, forKey: key.stringValue, expires: expires, cost: cost)
  }

  /// The same for a nullable key. `nil` removes what is there.
  @_disfavoredOverload
  public func set<K: KeyType, V: Codable & Sendable>(
    _ value: V?, forKey key: K, expires: Expiry = .never, cost: Int? = nil
  ) throws(CacheError) where K.ValueType == V? {
    guard let value else { return try removeValue(forKey: key.stringValue) }
    try set(value, forKey: key.stringValue, expires: expires, cost: cost)
  }

  // MARK: Types with a conversion

  /// The same for a type with a conversion.
  public func value<K: KeyType>(forKey key: K) throws(CacheError) -> K.ValueType where K.ValueType: LMDBConvertible {
    try value(key, ConvertibleEntry<K.ValueType>.self)
  }

  /// The same for a nullable key. A `nil` that a property has stored is `nil`, not the default value.
  public func value<K: KeyType, V: LMDBConvertible>(forKey key: K) throws(CacheError) -> V? where K.ValueType == V? {
    try value(key, NullableEntry<ConvertibleEntry<V>>.self)
  }

  /// Stores a value with a conversion under the key.
  public func set<K: KeyType>(
    _ value: K.ValueType, forKey key: K, expires: Expiry = .never, cost: Int? = nil
  ) throws(CacheError) where K.ValueType: LMDBConvertible {
    try setShared(value.storedForm(), forKey: key.stringValue, expires: expires, cost: cost)
  }

  /// The same for a nullable key. `nil` removes what is there.
  public func set<K: KeyType, V: LMDBConvertible>(
    _ value: V?, forKey key: K, expires: Expiry = .never, cost: Int? = nil
  ) throws(CacheError) where K.ValueType == V? {
    guard let value else { return try removeValue(forKey: key.stringValue) }
    try setShared(value.storedForm(), forKey: key.stringValue, expires: expires, cost: cost)
  }

  // MARK: Objects

  /// The same for an object.
  public func value<K: KeyType>(forKey key: K) throws(CacheError) -> K.ValueType where K.ValueType: NSCoding {
    try value(key, CodingEntry<K.ValueType>.self)
  }

  /// The same for a nullable key. A `nil` that a property has stored is `nil`, not the default value.
  public func value<K: KeyType, V: NSCoding>(forKey key: K) throws(CacheError) -> V? where K.ValueType == V? {
    try value(key, NullableEntry<CodingEntry<V>>.self)
  }

  /// Stores an object under the key.
  public func set<K: KeyType>(
    _ value: K.ValueType, forKey key: K, expires: Expiry = .never, cost: Int? = nil
  ) throws(CacheError) where K.ValueType: NSCoding {
    try setObject(value, forKey: key.stringValue, expires: expires, cost: cost)
  }

  /// The same for a nullable key. `nil` removes what is there.
  public func set<K: KeyType, V: NSCoding>(
    _ value: V?, forKey key: K, expires: Expiry = .never, cost: Int? = nil
  ) throws(CacheError) where K.ValueType == V? {
    try setObject(value, forKey: key.stringValue, expires: expires, cost: cost)
  }

  // MARK: Any type

  /// Removes the entry under the key, if there is one.
  public func removeValue(forKey key: some KeyType) throws(CacheError) { try removeValue(forKey: key.stringValue) }

  /// Returns whether a live entry exists under the key.
  public func contains(_ key: some KeyType) throws(CacheError) -> Bool {
    try contains(key.stringValue)
  }

  private func value<K: KeyType, C: EntryCodec<K.ValueType>>(
    _ key: K, _ codec: C.Type
  ) throws(CacheError) -> K.ValueType {
    try C.value(in: self, key.stringValue) ?? key.defaultValue
  }
}

/// How values of one kind are held by a cache: for the typed functions of the cache as for those of the store.
/// Properties of EFStorage hold them in the same way.
protocol EntryCodec<Value> {
  associatedtype Value

  /// Returns `nil` if there is no entry.
  static func value(in cache: LMDBCache, _ key: String) throws(CacheError) -> Value?
  /// Returns `nil` if nothing is to be stored.
  static func archive(_ value: Value, _ cache: LMDBCache) throws(CacheError) -> ArchivedValue?
  /// An object that the cache stores in the same form, for a write under a condition; `nil` if nothing is to be stored.
  static func object(for value: Value) throws(CacheError) -> (any NSCoding)?
}

enum CodableEntry<Value: Codable>: EntryCodec {
  static func value(in cache: LMDBCache, _ key: String) throws(CacheError) -> Value? {
    try cache.sharedValue(Value.self, forKey: key)
  }

  static func archive(_ value: Value, _ cache: LMDBCache) throws(CacheError) -> ArchivedValue? {
    try cache.archive(value)
  }

  static func object(for value: Value) -> (any NSCoding)? { CacheValue.make(value) }
}

enum CodingEntry<Value: NSCoding>: EntryCodec {
  static func value(in cache: LMDBCache, _ key: String) throws(CacheError) -> Value? {
    guard let object = try cache.object(forKey: key) else { return nil }
    if let value = object as? Value { return value }
    throw CacheError(
      .typeMismatch, "The object under \"\(key)\" is a \(type(of: object)), not a \(Value.self). It is kept.")
  }

  static func archive(_ value: Value, _ cache: LMDBCache) throws(CacheError) -> ArchivedValue? {
    try cache.archive(object: value)
  }

  static func object(for value: Value) -> (any NSCoding)? { value }
}

enum ConvertibleEntry<Value: LMDBConvertible>: EntryCodec {
  static func value(in cache: LMDBCache, _ key: String) throws(CacheError) -> Value? {
    try Value.convertedValue(in: cache, forKey: key)
  }

  static func archive(_ value: Value, _ cache: LMDBCache) throws(CacheError) -> ArchivedValue? {
    try cache.archive(value.storedForm())
  }

  static func object(for value: Value) throws(CacheError) -> (any NSCoding)? {
    CacheValue.make(try value.storedForm())
  }
}

/// Optionals, of which nil is not stored; a null, which a property leaves, is nil. Another value is stored like itself.
enum NullableEntry<Codec: EntryCodec>: EntryCodec {
  static func value(in cache: LMDBCache, _ key: String) throws(CacheError) -> Codec.Value?? {
    let found = try cache.nullable(forKey: key) { () throws(CacheError) in try Codec.value(in: cache, key) }
    // To any depth, a null is the outer nil.
    if let found, PropertyListValue.isInnerNil(found as Any) { return .some(nil) }
    return found
  }

  static func archive(_ value: Codec.Value?, _ cache: LMDBCache) throws(CacheError) -> ArchivedValue? {
    guard let value else { return nil }
    if PropertyListValue.unwrapped(value) == nil {
      throw CacheError(.encodingFailed, ConversionError.innerNil(Codec.Value?.self).description)
    }
    return try Codec.archive(value, cache)
  }

  static func object(for value: Codec.Value?) throws(CacheError) -> (any NSCoding)? {
    guard let value else { return nil }
    return try Codec.object(for: value)
  }
}
