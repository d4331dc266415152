struct CBORKeyedDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let map: CBORMapReader

  init(_ map: CBORMapReader) { self.map = map }

  var codingPath: [any CodingKey] { map.codingPath }

  /// The keys of this type, in document order. Empty once the document is gone.
  ///
  /// Decoding finally fails for a type that accepts any name if it has missed values under other keys.
  var allKeys: [Key] {
    var keys: [Key] = []
    do {
      let hasOthers = try map.forEachKey { key in
        switch key {
        case .text(let name):
          if let key = Key(stringValue: String(decoding: name, as: UTF8.self)) { keys.append(key) }
        case .integer(let number):
          if let key = Key(intValue: number) { keys.append(key) }
        }
      }
      if hasOthers, map.session.state.pointee.failure == nil, Key(stringValue: "\u{0}") != nil {
        map.session.state.pointee.failure = .dataCorrupted(
          .init(
            codingPath: codingPath,
            debugDescription: "A key of the map is neither text nor a signed 64-bit integer."))
      }
    } catch {
      // Cannot throw here; the next call does.
      return []
    }
    return keys
  }

  func contains(_ key: Key) -> Bool {
    // Cannot throw here; the next call does.
    (try? map.find(key)) != nil
  }

  func decodeNil(forKey key: Key) throws -> Bool { map.session.isNil(try position(key)) }

  // MARK: Values

  @inline(__always)
  private func position(_ key: Key) throws -> CBORPosition {
    guard let position = try map.find(key) else { throw notFound(key) }
    return position
  }

  private func notFound(_ key: Key) -> DecodingError {
    .keyNotFound(
      key,
      .init(
        codingPath: codingPath, debugDescription: "No value associated with key \(key) (\"\(key.stringValue)\")."))
  }

  @inline(__always)
  func value<V>(_ key: Key, _ read: (CBORPosition) throws(CBORValueError) -> V) throws -> V {
    let position = try position(key)
    do throws(CBORValueError) {
      return try read(position)
    } catch {
      throw error.decodingError(V.self, codingPath + [key])
    }
  }

  @inline(__always)
  func valueIfPresent<V>(_ key: Key, _ read: (CBORPosition) throws(CBORValueError) -> V) throws -> V? {
    guard let position = try map.find(key) else { return nil }
    do throws(CBORValueError) {
      return try read(position)
    } catch {
      if case .null = error { return nil }
      throw error.decodingError(V.self, codingPath + [key])
    }
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    try value(key) { (position) throws(CBORValueError) in try map.session.bool(at: position) }
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try valueIfPresent(key) { (position) throws(CBORValueError) in try map.session.bool(at: position) }
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    try value(key) { (position) throws(CBORValueError) in try map.session.string(at: position) }
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try valueIfPresent(key) { (position) throws(CBORValueError) in try map.session.string(at: position) }
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    try value(key) { (position) throws(CBORValueError) in try map.session.double(at: position) }
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try valueIfPresent(key) { (position) throws(CBORValueError) in try map.session.double(at: position) }
  }

  func decode(_ type: Float.Type, forKey key: Key) throws -> Float {
    try value(key) { (position) throws(CBORValueError) in try map.session.float(at: position) }
  }

  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    try valueIfPresent(key) { (position) throws(CBORValueError) in try map.session.float(at: position) }
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try value(type, at: try position(key), key)
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    guard let position = try map.find(key), !map.session.isNil(position) else { return nil }
    return try value(type, at: position, key)
  }

  @inline(__always)
  private func value<T: Decodable>(_ type: T.Type, at position: CBORPosition, _ key: Key) throws -> T {
    let session = map.session
    let leaf = CBORLeaf.of(type)
    if leaf != .none {
      do throws(CBORValueError) {
        return try session.leaf(leaf, type, at: position)
      } catch {
        guard case .otherForm = error else { throw error.decodingError(type, codingPath + [key]) }
      }
    }
    return try withUnsafePointer(to: key) { key in
      let mark = session.path.mark
      defer { session.path.pop(to: mark) }
      return try session.value(type, at: position, path: session.path.push(borrowing: key, under: map.path))
    }
  }

  // MARK: Containers within

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    let position = try position(key)
    let path = try map.session.nestedPath(key, under: map.path)
    return KeyedDecodingContainer(
      CBORKeyedDecoding<NestedKey>(try CBORMapReader(map.session, at: position, path: path)))
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    let position = try position(key)
    return try CBORUnkeyedDecoding(
      map.session, at: position, path: try map.session.nestedPath(key, under: map.path))
  }

  func superDecoder() throws -> any Decoder { try superDecoder(CBORCodingKey.superclass) }

  func superDecoder(forKey key: Key) throws -> any Decoder { try superDecoder(key) }

  /// A missing value reads as null, like in `JSONDecoder`: a superclass may have encoded nothing.
  private func superDecoder(_ key: some CodingKey) throws -> any Decoder {
    CBORValueDecoder(
      session: map.session, position: try map.find(key) ?? .absent,
      path: try map.session.nestedPath(key, under: map.path))
  }
}
