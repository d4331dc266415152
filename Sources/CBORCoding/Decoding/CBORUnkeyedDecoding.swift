struct CBORUnkeyedDecoding: UnkeyedDecodingContainer {
  private let session: CBORDecodingSession
  private let path: CBORCodingPath.Reference
  private let elements: UInt32
  private var index: UInt32 = 0
  private var position: CBORPosition

  /// - Throws: `DecodingError` unless there is an array at `position`.
  init(_ session: CBORDecodingSession, at position: CBORPosition, path: CBORCodingPath.Reference) throws {
    var position = position
    try session.requireContainer(.array, [Any].self, at: &position, path)
    elements = UInt32(truncatingIfNeeded: session.enter(&position))
    self.session = session
    self.path = path
    self.position = position
  }

  var codingPath: [any CodingKey] { session.keys(to: path) }
  /// The verified number of elements, safe for reserving memory.
  var count: Int? { Int(elements) }
  var currentIndex: Int { Int(index) }
  var isAtEnd: Bool { index == elements }

  private var key: CBORCodingKey { CBORCodingKey(index: currentIndex) }

  @inline(__always)
  private func checkNext(_ type: Any.Type) throws {
    try session.checkOpen()
    guard index < elements else { throw endError(type) }
  }

  private func endError(_ type: Any.Type) -> DecodingError {
    .valueNotFound(type, .init(codingPath: codingPath + [key], debugDescription: "Unkeyed container is at end."))
  }

  @inline(__always)
  private mutating func advance() {
    session.skip(&position)
    index &+= 1
  }

  // MARK: Values

  mutating func decodeNil() throws -> Bool {
    try checkNext(Never.self)
    guard session.isNil(position) else { return false }
    advance()
    return true
  }

  @inline(__always)
  mutating func value<V>(
    _ read: (CBORDecodingSession, CBORPosition) throws(CBORValueError) -> V
  ) throws -> V {
    try checkNext(V.self)
    do throws(CBORValueError) {
      let value = try read(session, position)
      advance()
      return value
    } catch {
      throw error.decodingError(V.self, codingPath + [key])
    }
  }

  @inline(__always)
  mutating func valueIfPresent<V>(
    _ read: (CBORDecodingSession, CBORPosition) throws(CBORValueError) -> V
  ) throws -> V? {
    if isAtEnd { return nil }
    return try decodeNil() ? nil : value(read)
  }

  mutating func decode(_ type: Bool.Type) throws -> Bool {
    try value { (session, position) throws(CBORValueError) in try session.bool(at: position) }
  }

  mutating func decodeIfPresent(_ type: Bool.Type) throws -> Bool? {
    try valueIfPresent { (session, position) throws(CBORValueError) in try session.bool(at: position) }
  }

  mutating func decode(_ type: String.Type) throws -> String {
    try value { (session, position) throws(CBORValueError) in try session.string(at: position) }
  }

  mutating func decodeIfPresent(_ type: String.Type) throws -> String? {
    try valueIfPresent { (session, position) throws(CBORValueError) in try session.string(at: position) }
  }

  mutating func decode(_ type: Double.Type) throws -> Double {
    try value { (session, position) throws(CBORValueError) in try session.double(at: position) }
  }

  mutating func decodeIfPresent(_ type: Double.Type) throws -> Double? {
    try valueIfPresent { (session, position) throws(CBORValueError) in try session.double(at: position) }
  }

  mutating func decode(_ type: Float.Type) throws -> Float {
    try value { (session, position) throws(CBORValueError) in try session.float(at: position) }
  }

  mutating func decodeIfPresent(_ type: Float.Type) throws -> Float? {
    try valueIfPresent { (session, position) throws(CBORValueError) in try session.float(at: position) }
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try checkNext(type)
    let leaf = CBORLeaf.of(type)
    if leaf != .none {
      do throws(CBORValueError) {
        let value = try session.leaf(leaf, type, at: position)
        advance()
        return value
      } catch {
        guard case .otherForm = error else { throw error.decodingError(type, codingPath + [key]) }
      }
    }
    let mark = session.path.mark
    defer { session.path.pop(to: mark) }
    let value = try session.value(type, at: position, path: session.path.push(index: currentIndex, under: path))
    advance()
    return value
  }

  mutating func decodeIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
    if isAtEnd { return nil }
    return try decodeNil() ? nil : decode(type)
  }

  // MARK: Containers within

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try checkNext(KeyedDecodingContainer<NestedKey>.self)
    let map = try CBORMapReader(session, at: position, path: try session.nestedPath(key, under: path))
    advance()
    return KeyedDecodingContainer(CBORKeyedDecoding<NestedKey>(map))
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try checkNext((any UnkeyedDecodingContainer).self)
    let nested = try CBORUnkeyedDecoding(session, at: position, path: try session.nestedPath(key, under: path))
    advance()
    return nested
  }

  mutating func superDecoder() throws -> any Decoder {
    try checkNext((any Decoder).self)
    let decoder = CBORValueDecoder(
      session: session, position: position, path: try session.nestedPath(key, under: path))
    advance()
    return decoder
  }
}
