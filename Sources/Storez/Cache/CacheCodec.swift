import FoundationArchives

enum PlainCached<Value>: ObjectCodec {
  static func object(for value: Value) -> Any? {
    // An inner nil is a value.
    PropertyListValue.isInnerNil(value) ? value : PropertyListValue.unwrapped(value)
  }

  static func value(of object: Any) throws -> Value {
    guard let value = object as? Value else { throw ConversionError.notDecoded(Value.self, object) }
    return value
  }
}

enum ConvertibleCached<Value: CacheConvertible>: ObjectCodec {
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
