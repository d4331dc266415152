/// How user defaults or memory hold values of one kind.
protocol ObjectCodec<Value> {
  associatedtype Value

  /// Returns `nil` to store nothing.
  static func object(for value: Value) throws -> Any?
  static func value(of object: Any) throws -> Value
}

/// Optionals, whose `nil` is not stored.
enum NullableObject<Codec: ObjectCodec>: ObjectCodec {
  static func object(for value: Codec.Value?) throws -> Any? { try value.flatMap { try Codec.object(for: $0) } }
  static func value(of object: Any) throws -> Codec.Value? { try Codec.value(of: object) }
}
