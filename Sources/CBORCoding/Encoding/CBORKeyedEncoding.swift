struct CBORKeyedEncoding<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let buffer: CBOREncodingBuffer
  let serial: UInt64

  var codingPath: [any CodingKey] { buffer.codingPath(serial) }

  func encodeNil(forKey key: Key) throws {
    try buffer.beginEntry(key, serial)
    buffer.writer.writeNull()
  }

  func encode(_ value: Bool, forKey key: Key) throws {
    try buffer.beginEntry(key, serial)
    buffer.writer.writeBool(value)
  }

  func encode(_ value: String, forKey key: Key) throws {
    try buffer.beginEntry(key, serial)
    buffer.writer.writeText(value)
  }

  func encode(_ value: Double, forKey key: Key) throws {
    try buffer.beginEntry(key, serial)
    buffer.writer.writeDouble(value)
  }

  func encode(_ value: Float, forKey key: Key) throws {
    try buffer.beginEntry(key, serial)
    buffer.writer.writeFloat(value)
  }

  @inline(__always)
  private func encodeInteger<I: FixedWidthInteger>(_ value: I, _ key: Key) throws {
    try buffer.beginEntry(key, serial)
    buffer.writer.writeInteger(value)
  }

  @inline(__always)
  func encode<I: FixedWidthInteger & Encodable>(_ value: I, forKey key: Key) throws { try encodeInteger(value, key) }
  func encode(_ value: Int128, forKey key: Key) throws { try encodeInteger(value, key) }
  func encode(_ value: UInt128, forKey key: Key) throws { try encodeInteger(value, key) }

  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    let leaf = CBORLeaf.of(T.self)
    if leaf != .none {
      try buffer.beginEntry(key, serial)
      return buffer.write(leaf, value)
    }
    let mark = buffer.mark
    try buffer.beginEntry(key, serial)
    try withUnsafePointer(to: key) { key in
      let path = buffer.session.path.push(borrowing: key, under: buffer.top.path)
      try buffer.encodeValue(value, path: path, mark: mark)
    }
  }

  // MARK: Containers within

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy keyType: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    let (buffer, serial) = buffer.nested(.keyed, forKey: key, serial)
    return KeyedEncodingContainer(CBORKeyedEncoding<NestedKey>(buffer: buffer, serial: serial))
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    let (buffer, serial) = buffer.nested(.unkeyed, forKey: key, serial)
    return CBORUnkeyedEncoding(buffer: buffer, serial: serial)
  }

  func superEncoder() -> any Encoder {
    let (buffer, serial) = buffer.nested(.none, forKey: CBORCodingKey.superclass, serial)
    return CBORValueEncoder(buffer: buffer, serial: serial)
  }

  func superEncoder(forKey key: Key) -> any Encoder {
    let (buffer, serial) = buffer.nested(.none, forKey: key, serial)
    return CBORValueEncoder(buffer: buffer, serial: serial)
  }
}
