struct CBORValueDecoder: Decoder, SingleValueDecodingContainer {
  let session: CBORDecodingSession
  let position: CBORPosition
  let path: CBORCodingPath.Reference

  var codingPath: [any CodingKey] { session.keys(to: path) }
  var userInfo: [CodingUserInfoKey: Any] { session.userInfo }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try checkPresent([String: Any].self)
    return KeyedDecodingContainer(CBORKeyedDecoding<Key>(try CBORMapReader(session, at: position, path: path)))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try checkPresent([Any].self)
    return try CBORUnkeyedDecoding(session, at: position, path: path)
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    try session.checkOpen()
    return self
  }

  private func checkPresent(_ type: Any.Type) throws {
    if position.isAbsent { throw CBORValueError.null.decodingError(type, codingPath) }
  }

  // MARK: The single value

  func decodeNil() -> Bool {
    // Cannot throw here; the next call does.
    guard session.isOpen else { return false }
    return position.isAbsent || session.isNil(position)
  }

  @inline(__always)
  private func value<V>(_ read: (CBORPosition) throws(CBORValueError) -> V) throws -> V {
    try session.checkOpen()
    try checkPresent(V.self)
    do throws(CBORValueError) {
      return try read(position)
    } catch {
      throw error.decodingError(V.self, codingPath)
    }
  }

  @inline(__always)
  private func integer<I: FixedWidthInteger>(_ type: I.Type) throws -> I {
    try value { (position) throws(CBORValueError) in try session.integer(type, at: position) }
  }

  func decode(_ type: Bool.Type) throws -> Bool {
    try value { (position) throws(CBORValueError) in try session.bool(at: position) }
  }

  func decode(_ type: String.Type) throws -> String {
    try value { (position) throws(CBORValueError) in try session.string(at: position) }
  }

  func decode(_ type: Double.Type) throws -> Double {
    try value { (position) throws(CBORValueError) in try session.double(at: position) }
  }

  func decode(_ type: Float.Type) throws -> Float {
    try value { (position) throws(CBORValueError) in try session.float(at: position) }
  }

  func decode<I: FixedWidthInteger & Decodable>(_ type: I.Type) throws -> I { try integer(type) }
  func decode(_ type: Int128.Type) throws -> Int128 { try integer(type) }
  func decode(_ type: UInt128.Type) throws -> UInt128 { try integer(type) }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try session.checkOpen()
    let leaf = CBORLeaf.of(type)
    if leaf != .none {
      do throws(CBORValueError) { return try value(leaf, type) } catch { try askInstead(type, error) }
    }
    let mark = session.path.mark
    defer { session.path.pop(to: mark) }
    return try session.value(type, at: position, path: session.path.push(under: path))
  }

  func decodeRoot<T: Decodable>(_ type: T.Type) throws -> T {
    let leaf = CBORLeaf.of(type)
    if leaf != .none {
      do throws(CBORValueError) { return try value(leaf, type) } catch { try askInstead(type, error) }
    }
    return try type.init(from: self)
  }

  @inline(__always)
  private func value<T>(_ leaf: CBORLeaf, _ type: T.Type) throws(CBORValueError) -> T {
    if position.isAbsent { throw .null }
    return try session.leaf(leaf, type, at: position)
  }

  private func askInstead(_ type: Any.Type, _ error: CBORValueError) throws {
    guard case .otherForm = error else { throw error.decodingError(type, codingPath) }
  }
}
