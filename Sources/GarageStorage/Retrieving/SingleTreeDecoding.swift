import Platform

struct SingleTreeDecoding: SingleValueDecodingContainer {
  let decoder: TreeDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }

  func decodeNil() -> Bool { decoder.json == .null }
  func decode(_ type: Bool.Type) throws -> Bool { try decoder.scalar(type) }
  func decode(_ type: String.Type) throws -> String { try decoder.scalar(type) }
  func decode(_ type: Double.Type) throws -> Double { try decoder.scalar(type) }
  func decode(_ type: Float.Type) throws -> Float { try decoder.scalar(type) }
  func decode<I: FixedWidthInteger & Decodable>(_ type: I.Type) throws -> I { try decoder.scalar(type) }

  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    try decoder.session.decode(type, from: decoder.json, at: codingPath)
  }
}
