/// The array of a value that is being encoded.
struct CBORUnkeyedEncoding: UnkeyedEncodingContainer {
  let buffer: CBOREncodingBuffer
  /// Of the value that the array is.
  let serial: UInt64

  var codingPath: [any CodingKey] { buffer.codingPath(serial) }

  var count: Int { buffer.count(of: serial) }

  func encodeNil() throws {
    try buffer.beginElement(serial)
    buffer.writer.writeNull()
  }

  func encode(_ value: Bool) throws {
    try buffer.beginElement(serial)
    buffer.writer.writeBool(value)
  }

  func encode(_ value: String) throws {
    try buffer.beginElement(serial)
    buffer.writer.writeText(value)
  }

  func encode(_ value: Double) throws {
    try buffer.beginElement(serial)
    buffer.writer.writeDouble(value)
  }

  func encode(_ value: Float) throws {
    try buffer.beginElement(serial)
    buffer.writer.writeFloat(value)
  }

  @inline(__always)
  private func encodeInteger<I: FixedWidthInteger>(_ value: I) throws {
    try buffer.beginElement(serial)
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
      try buffer.beginElement(serial)
      return buffer.write(leaf, value)
    }
    let mark = buffer.elementMark
    try buffer.beginElement(serial)
    let path = buffer.session.path.push(index: mark.index, under: buffer.top.path)
    try buffer.encodeValue(value, path: path, mark: mark)
  }

  // MARK: Containers within

  func nestedContainer<NestedKey: CodingKey>(keyedBy keyType: NestedKey.Type) -> KeyedEncodingContainer<NestedKey> {
    let (buffer, serial) = buffer.nestedElement(.keyed, serial)
    return KeyedEncodingContainer(CBORKeyedEncoding<NestedKey>(buffer: buffer, serial: serial))
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    let (buffer, serial) = buffer.nestedElement(.unkeyed, serial)
    return CBORUnkeyedEncoding(buffer: buffer, serial: serial)
  }

  func superEncoder() -> any Encoder {
    let (buffer, serial) = buffer.nestedElement(.none, serial)
    return CBORValueEncoder(buffer: buffer, serial: serial)
  }
}
