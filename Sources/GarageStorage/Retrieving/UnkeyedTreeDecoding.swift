import Platform

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
  mutating func decode(_ type: Bool.Type) throws -> Bool { try next(type) { try $0.scalar(type) } }
  mutating func decode(_ type: String.Type) throws -> String { try next(type) { try $0.scalar(type) } }
  mutating func decode(_ type: Double.Type) throws -> Double { try next(type) { try $0.scalar(type) } }
  mutating func decode(_ type: Float.Type) throws -> Float { try next(type) { try $0.scalar(type) } }
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
