import Platform

/// An optional, array or dictionary whose elements may be mapped objects. It encodes into a new slot.
protocol MappedContainer {
  static var elementType: Any.Type { get }

  func encodeMapped(into slot: EncodingSlot, _ encode: (Any, EncodingSlot, (any CodingKey)?) throws -> Void) throws

  static func decodeMapped(_ json: JSONValue, _ decoder: TreeDecoder) throws -> Self
}

extension Optional: MappedContainer {
  static var elementType: Any.Type { Wrapped.self }

  func encodeMapped(into slot: EncodingSlot, _ encode: (Any, EncodingSlot, (any CodingKey)?) throws -> Void) throws {
    guard let self else { return slot.set(.null) }
    try encode(self, slot, nil)
  }

  static func decodeMapped(_ json: JSONValue, _ decoder: TreeDecoder) throws -> Wrapped? {
    // As for optional properties of Codable types, a deleted object is nil.
    if try json == .null || decoder.session.isMissing(Wrapped.self, json) { return nil }
    guard let value = try MappedValue.value(Wrapped.self, json, decoder) as? Wrapped else {
      throw decoder.mismatch(Wrapped.self)
    }
    return value
  }
}

extension Array: MappedContainer {
  static var elementType: Any.Type { Element.self }

  func encodeMapped(into slot: EncodingSlot, _ encode: (Any, EncodingSlot, (any CodingKey)?) throws -> Void) throws {
    slot.becomeArray()
    for (index, element) in enumerated() { try encode(element, slot.element(), IndexKey(index)) }
  }

  static func decodeMapped(_ json: JSONValue, _ decoder: TreeDecoder) throws -> [Element] {
    guard case .array(let elements) = json else { throw decoder.mismatch(Self.self) }
    return try elements.enumerated().map { index, json in
      let place = decoder.nested(json, IndexKey(index))
      guard let element = try MappedValue.value(Element.self, json, place) as? Element else {
        throw place.mismatch(Element.self)
      }
      return element
    }
  }
}

extension Dictionary: MappedContainer where Key == String {
  static var elementType: Any.Type { Value.self }

  func encodeMapped(into slot: EncodingSlot, _ encode: (Any, EncodingSlot, (any CodingKey)?) throws -> Void) throws {
    slot.becomeObject()
    for (key, value) in self { try encode(value, slot.newMember(key), NameKey(key)) }
  }

  static func decodeMapped(_ json: JSONValue, _ decoder: TreeDecoder) throws -> [String: Value] {
    guard case .object(let members) = json else { throw decoder.mismatch(Self.self) }
    return try Dictionary(
      uniqueKeysWithValues: members.map { key, json in
        let place = decoder.nested(json, NameKey(key))
        guard let value = try MappedValue.value(Value.self, json, place) as? Value else {
          throw place.mismatch(Value.self)
        }
        return (key, value)
      })
  }
}
