import Foundation
import Platform

/// Decodes a value from JSON. All nested values pass through the session, which resolves references to parked objects.
struct TreeDecoder: Decoder {
  let session: RetrievalSession
  let json: JSONValue
  let codingPath: [any CodingKey]
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init(_ session: RetrievalSession, _ json: JSONValue, _ codingPath: [any CodingKey]) {
    self.session = session
    self.json = json
    self.codingPath = codingPath
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let members) = json else { throw mismatch([String: Any].self) }
    return KeyedDecodingContainer(KeyedTreeDecoding(decoder: self, members: members))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let elements) = json else { throw mismatch([Any].self) }
    return UnkeyedTreeDecoding(decoder: self, elements: elements)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { SingleTreeDecoding(decoder: self) }

  func nested(_ json: JSONValue, _ key: any CodingKey) -> TreeDecoder { TreeDecoder(session, json, codingPath + [key]) }

  // MARK: - Scalars

  func scalar(_ type: Bool.Type) throws -> Bool {
    guard case .bool(let value) = json else { throw mismatch(type) }
    return value
  }

  func scalar(_ type: String.Type) throws -> String {
    guard case .string(let value) = json else { throw mismatch(type) }
    return value
  }

  func scalar<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
    guard case .number(let text) = json else { throw mismatch(type) }
    guard let value = json.integer(type) else { throw corrupted("\(text) is not of type \(type)") }
    return value
  }

  func scalar<Number: BinaryFloatingPoint & LosslessStringConvertible>(_ type: Number.Type) throws -> Number {
    guard let value = json.floatingPoint(type) else {
      if case .number(let text) = json { throw corrupted("\(text) is not of type \(type)") }
      throw mismatch(type)
    }
    return value
  }

  // MARK: - Errors

  func mismatch(_ type: Any.Type) -> DecodingError {
    let context = DecodingError.Context(
      codingPath: codingPath, debugDescription: "There is \(json.kind) in place of \(type)")
    return json == .null ? .valueNotFound(type, context) : .typeMismatch(type, context)
  }

  func corrupted(_ reason: String) -> DecodingError {
    .dataCorrupted(.init(codingPath: codingPath, debugDescription: reason))
  }
}

extension TreeDecoder {
  /// A standard type's value, as in `JSONDecoder`; `nil` for other types.
  func standard<T: Decodable>(_ type: T.Type) throws -> T? {
    switch type {
    case is String.Type: return try scalar(String.self) as? T
    case is Int.Type: return try scalar(Int.self) as? T
    case is Double.Type: return try scalar(Double.self) as? T
    case is Float.Type: return try scalar(Float.self) as? T
    case is Bool.Type: return try scalar(Bool.self) as? T
    case is Data.Type:
      guard let data = Data(base64Encoded: try scalar(String.self)) else { throw corrupted("It is not Base64") }
      return data as? T
    case is URL.Type:
      let text = try scalar(String.self)
      guard let url = URL(string: text) else { throw corrupted("\"\(text)\" is not a URL") }
      return url as? T
    case is Decimal.Type:
      if json == .string("NaN") { return Decimal.nan as? T }
      guard let decimal = json.decimal else { throw mismatch(type) }
      return decimal as? T
    default: return nil
    }
  }
}

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

  func superDecoder(forKey key: Key) throws -> any Decoder { decoder.nested(members[key.stringValue] ?? .null, key) }
}

struct UnkeyedTreeDecoding: UnkeyedDecodingContainer {
  let decoder: TreeDecoder
  let elements: [JSONValue]
  private(set) var currentIndex = 0

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { elements.count }
  var isAtEnd: Bool { currentIndex >= elements.count }

  /// Reads the next element, and advances only on success, like `JSONDecoder`.
  private mutating func next<T>(_ type: Any.Type, _ body: (TreeDecoder) throws -> T) throws -> T {
    let key = IndexKey(currentIndex)
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type, .init(codingPath: codingPath + [key], debugDescription: "The array has no more elements"))
    }
    let value = try body(decoder.nested(elements[currentIndex], key))
    currentIndex += 1
    return value
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd else { return try next(Never.self) { _ in true } }
    guard elements[currentIndex] == .null else { return false }
    currentIndex += 1
    return true
  }
  mutating func decode<I: FixedWidthInteger & Decodable>(_ type: I.Type) throws -> I {
    try next(type) { try $0.scalar(type) }
  }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try next(type) { try $0.session.decode(type, from: $0.json, at: $0.codingPath) }
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try next(Any.self) { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try next(Any.self) { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try next(Any.self) { $0 } }
}

struct SingleTreeDecoding: SingleValueDecodingContainer {
  let decoder: TreeDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }

  func decodeNil() -> Bool { decoder.json == .null }
  func decode<I: FixedWidthInteger & Decodable>(_ type: I.Type) throws -> I { try decoder.scalar(type) }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try decoder.session.decode(type, from: decoder.json, at: codingPath)
  }
}
