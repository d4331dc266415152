import Foundation
import CBORCoding

/// The cache's coder of Codable values.
struct CBORCoder: ValueCoder {
  let name = "CBORCoding.CBOREncoder"
  private let encoder = CBOREncoder()
  private let decoder = CBORDecoder()

  func encode<Value: Codable & Sendable>(_ value: Value) throws -> Data { try encoder.encode(value) }

  func decode<Value: Codable & Sendable>(_ type: Value.Type, from archive: Data) throws -> Value {
    try decoder.decode(type, from: archive)
  }
}
