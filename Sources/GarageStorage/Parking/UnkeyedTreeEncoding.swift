import Platform

struct UnkeyedTreeEncoding: UnkeyedEncodingContainer {
  let encoder: TreeEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }
  var count: Int { encoder.slot.count }

  private func put(_ value: JSONValue) { encoder.slot.element().set(value) }

  func encodeNil() { put(.null) }
  func encode(_ value: Bool) { put(.bool(value)) }
  func encode(_ value: String) { put(.string(value)) }
  func encode(_ value: Double) { put(JSONValue(value)) }
  func encode(_ value: Float) { put(JSONValue(value)) }
  func encode<I: FixedWidthInteger & Encodable>(_ value: I) { put(.number(String(value))) }

  func encode<T: Encodable>(_ value: T) throws {
    let key = IndexKey(count)
    try encoder.session.encode(value, into: encoder.slot.element(), at: codingPath + [key])
  }

  func nestedContainer<NestedKey: CodingKey>(keyedBy type: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
    next().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { next().unkeyedContainer() }

  func superEncoder() -> any Encoder { next() }

  private func next() -> TreeEncoder {
    let key = IndexKey(count)
    return encoder.nested(encoder.slot.element(), key)
  }
}
