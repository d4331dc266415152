import Foundation
import FoundationArchives
import LMDBCaching

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
