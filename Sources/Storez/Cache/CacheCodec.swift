import FoundationArchives

/// How values of one kind are kept in memory.
protocol CacheCodec<Value> {
  associatedtype Value

  /// Returns `nil` if nothing is to be kept.
  static func object(for value: Value) throws -> Any?
  static func value(of object: Any) throws -> Value
}

enum PlainCached<Value>: CacheCodec {
  static func object(for value: Value) -> Any? {
    // An inner nil is a value.
    PropertyListValue.isInnerNil(value) ? value : PropertyListValue.unwrapped(value)
  }

  static func value(of object: Any) throws -> Value {
    guard let value = object as? Value else { throw ConversionError.notDecoded(Value.self, object) }
    return value
  }
}

enum ConvertibleCached<Value: CacheConvertible>: CacheCodec {
  static func object(for value: Value) throws -> Any? {
    guard let object = value.encodeForCache else { throw ConversionError.notEncoded(Value.self, "encodeForCache") }
    return object
  }

  static func value(of object: Any) throws -> Value {
    guard let cached = object as? Value.CacheType, let value = Value.decode(cacheValue: cached) else {
      throw ConversionError.notDecoded(Value.self, object)
    }
    return value
  }
}

/// Optionals, of which nil is not kept.
enum NullableCached<Codec: CacheCodec>: CacheCodec {
  static func object(for value: Codec.Value?) throws -> Any? { try value.flatMap { try Codec.object(for: $0) } }
  static func value(of object: Any) throws -> Codec.Value? { try Codec.value(of: object) }
}
