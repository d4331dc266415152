import Foundation
import LMDBCaching

/// How values of one kind are held by a cache.
protocol EntryCodec<Value>: SendableMetatype {
  associatedtype Value

  /// Nil: there is no entry.
  static func value(in cache: LMDBCache, _ key: String) throws -> Value?
  /// Nil: nothing is to be stored.
  static func archive(_ value: Value, _ cache: LMDBCache) throws -> ArchivedValue?
}

enum CodableEntry<Value: Codable>: EntryCodec {
  static func value(in cache: LMDBCache, _ key: String) throws -> Value? {
    try cache.sharedValue(Value.self, forKey: key)
  }

  static func archive(_ value: Value, _ cache: LMDBCache) throws -> ArchivedValue? { try cache.archive(value) }
}

/// Stored like the value in it.
enum NullableCodableEntry<Wrapped: Codable>: EntryCodec {
  static func value(in cache: LMDBCache, _ key: String) throws -> Wrapped?? {
    do throws(CacheError) {
      return try cache.sharedValue(Wrapped.self, forKey: key).map(Optional.some)
    } catch {
      // A null, which a property leaves there.
      guard error.code == .typeMismatch else { throw error }
      return try cache.sharedValue(Wrapped?.self, forKey: key)
    }
  }

  static func archive(_ value: Wrapped?, _ cache: LMDBCache) throws -> ArchivedValue? {
    try value.map { try cache.archive($0) }
  }
}

enum CodingEntry<Value: NSCoding>: EntryCodec {
  static func value(in cache: LMDBCache, _ key: String) throws -> Value? {
    guard let object = try cache.object(forKey: key) else { return nil }
    guard let value = object as? Value else { throw ConversionError.notDecoded(Value.self, object) }
    return value
  }

  static func archive(_ value: Value, _ cache: LMDBCache) throws -> ArchivedValue? { try cache.archive(object: value) }
}

enum ConvertibleEntry<Value: LMDBConvertible>: EntryCodec {
  static func value(in cache: LMDBCache, _ key: String) throws -> Value? {
    guard let stored = try cache.sharedValue(Value.LMDBType.self, forKey: key) else { return nil }
    guard let value = Value.decode(lmdbValue: stored) else { throw ConversionError.notDecoded(Value.self, stored) }
    return value
  }

  static func archive(_ value: Value, _ cache: LMDBCache) throws -> ArchivedValue? {
    guard let stored = value.encodeForLMDB else { throw ConversionError.notEncoded(Value.self, "encodeForLMDB") }
    return try cache.archive(stored)
  }
}

/// Optionals, of which nil is not stored.
enum NullableEntry<Codec: EntryCodec>: EntryCodec {
  static func value(in cache: LMDBCache, _ key: String) throws -> Codec.Value?? {
    try Codec.value(in: cache, key).map(Optional.some)
  }

  static func archive(_ value: Codec.Value?, _ cache: LMDBCache) throws -> ArchivedValue? {
    try value.flatMap { try Codec.archive($0, cache) }
  }
}
