import Platform

struct KeyedTreeEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: TreeEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }

  private func put(_ value: JSONValue, _ key: Key) {
    encoder.slot.newMember(key.stringValue).set(value)
  }

  func encodeNil(forKey key: Key) { put(.null, key) }
  func encode(_ value: Bool, forKey key: Key) { put(.bool(value), key) }
  func encode(_ value: String, forKey key: Key) { put(.string(value), key) }
  func encode(_ value: Double, forKey key: Key) { put(JSONValue(value), key) }
  func encode(_ value: Float, forKey key: Key) { put(JSONValue(value), key) }
  @inline(__always)
  func encode<I: FixedWidthInteger & Encodable>(_ value: I, forKey key: Key) { put(.number(String(value)), key) }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    try encoder.session.encode(value, into: encoder.slot.newMember(key.stringValue), at: codingPath + [key])
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    encoder.nested(encoder.slot.member(key.stringValue), key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder.nested(encoder.slot.member(key.stringValue), key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder {
    encoder.nested(encoder.slot.member(NameKey.superclass.stringValue), NameKey.superclass)
  }

  func superEncoder(forKey key: Key) -> any Encoder {
    encoder.nested(encoder.slot.member(key.stringValue), key)
  }
}
