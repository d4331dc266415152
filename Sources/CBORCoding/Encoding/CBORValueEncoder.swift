/// The encoder that a value is handed, and its single value container.
struct CBORValueEncoder: Encoder, SingleValueEncodingContainer, CBORScalarEncoding {
  let buffer: CBOREncodingBuffer
  /// Of the value.
  let serial: UInt64

  var codingPath: [any CodingKey] { buffer.codingPath(serial) }
  var userInfo: [CodingUserInfoKey: Any] { buffer.session.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(CBORKeyedEncoding<Key>(buffer: buffer, serial: buffer.container(.keyed, serial)))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    CBORUnkeyedEncoding(buffer: buffer, serial: buffer.container(.unkeyed, serial))
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    CBORValueEncoder(buffer: buffer, serial: buffer.container(.single, serial))
  }

  // MARK: The single value

  @inline(__always)
  func begin() throws { try buffer.beginSingle(serial) }

  func encode<I: FixedWidthInteger & Encodable>(_ value: I) throws { try encodeInteger(value) }
  func encode(_ value: Int128) throws { try encodeInteger(value) }
  func encode(_ value: UInt128) throws { try encodeInteger(value) }

  func encode<T: Encodable>(_ value: T) throws {
    let leaf = CBORLeaf.of(T.self)
    if leaf != .none {
      try begin()
      return buffer.write(leaf, value)
    }
    let mark = buffer.mark
    try begin()
    let path = buffer.session.path.push(under: buffer.top.path)
    try buffer.encodeValue(value, path: path, mark: mark)
  }
}
