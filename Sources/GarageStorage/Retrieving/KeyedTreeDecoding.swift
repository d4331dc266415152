import Platform

struct KeyedTreeDecoding<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: TreeDecoder
  let members: [String: JSONValue]

  var codingPath: [any CodingKey] { decoder.codingPath }
  var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

  private func json(_ key: Key) throws -> JSONValue {
    guard let json = members[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key, .init(codingPath: codingPath, debugDescription: "There is no \"\(key.stringValue)\""))
    }
    return json
  }

  private func nested(_ key: Key) throws -> TreeDecoder { decoder.nested(try json(key), key) }

  func decodeNil(forKey key: Key) throws -> Bool { try json(key) == .null }
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try nested(key).scalar(type) }
  func decode(_ type: String.Type, forKey key: Key) throws -> String { try nested(key).scalar(type) }
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try nested(key).scalar(type) }
  func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try nested(key).scalar(type) }
  @inline(__always)
  func decode<I: FixedWidthInteger & Decodable>(_ type: I.Type, forKey key: Key) throws -> I {
    try nested(key).scalar(type)
  }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    try decoder.session.decode(type, from: try json(key), at: codingPath + [key])
  }

  /// An optional property that points to a deleted object is nil.
  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    guard let json = members[key.stringValue], json != .null else { return nil }
    if try decoder.session.isMissing(type, json) { return nil }
    return try decoder.session.decode(type, from: json, at: codingPath + [key])
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try nested(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try nested(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder {
    decoder.nested(members[NameKey.superclass.stringValue] ?? .null, NameKey.superclass)
  }

  func superDecoder(forKey key: Key) throws -> any Decoder {
    decoder.nested(members[key.stringValue] ?? .null, key)
  }
}
