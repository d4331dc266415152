/// The array of a value that is being encoded.
struct CBORUnkeyedEncoding: UnkeyedEncodingContainer, CBORScalarEncoding {
  let buffer: CBOREncodingBuffer
  /// Of the value that the array is.
  let serial: UInt64

  var codingPath: [any CodingKey] { buffer.codingPath(serial) }

  var count: Int { buffer.count(of: serial) }

  @inline(__always)
  func begin() throws { try buffer.beginElement(serial) }

  func encode<I: FixedWidthInteger & Encodable>(_ value: I) throws { try encodeInteger(value) }
  func encode(_ value: Int128) throws { try encodeInteger(value) }
  func encode(_ value: UInt128) throws { try encodeInteger(value) }

  func encode<T: Encodable>(_ value: T) throws {
    let leaf = CBORLeaf.of(T.self)
    if leaf != .none {
      try begin()
      return buffer.write(leaf, value)
    }
    let mark = buffer.elementMark
    try begin()
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
