/// The encoder that a value is handed, and its single value container.
struct CBORValueEncoder: Encoder, SingleValueEncodingContainer {
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

  func encodeNil() throws {
    try buffer.beginSingle(serial)
    buffer.writer.writeNull()
  }

  func encode(_ value: Bool) throws {
    try buffer.beginSingle(serial)
    buffer.writer.writeBool(value)
  }

  func encode(_ value: String) throws {
    try buffer.beginSingle(serial)
    buffer.writer.writeText(value)
  }

  func encode(_ value: Double) throws {
    try buffer.beginSingle(serial)
    buffer.writer.writeDouble(value)
  }

  func encode(_ value: Float) throws {
    try buffer.beginSingle(serial)
    buffer.writer.writeFloat(value)
  }

  @inline(__always)
  private func encodeInteger<I: FixedWidthInteger>(_ value: I) throws {
    try buffer.beginSingle(serial)
    buffer.writer.writeInteger(value)
  }

  func encode(_ value: Int) throws { try encodeInteger(value) }
  func encode(_ value: Int8) throws { try encodeInteger(value) }
  func encode(_ value: Int16) throws { try encodeInteger(value) }
  func encode(_ value: Int32) throws { try encodeInteger(value) }
  func encode(_ value: Int64) throws { try encodeInteger(value) }
  func encode(_ value: Int128) throws { try encodeInteger(value) }
  func encode(_ value: UInt) throws { try encodeInteger(value) }
  func encode(_ value: UInt8) throws { try encodeInteger(value) }
  func encode(_ value: UInt16) throws { try encodeInteger(value) }
  func encode(_ value: UInt32) throws { try encodeInteger(value) }
  func encode(_ value: UInt64) throws { try encodeInteger(value) }
  func encode(_ value: UInt128) throws { try encodeInteger(value) }

  func encode<T: Encodable>(_ value: T) throws {
    let leaf = CBORLeaf.of(T.self)
    if leaf != .none {
      try buffer.beginSingle(serial)
      return buffer.write(leaf, value)
    }
    let mark = buffer.mark
    try buffer.beginSingle(serial)
    let path = buffer.session.path.push(under: buffer.top.path)
    try buffer.encodeValue(value, path: path, mark: mark)
  }
}
