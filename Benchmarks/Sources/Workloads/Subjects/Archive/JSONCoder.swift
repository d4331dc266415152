import Foundation

struct JSONCoder: ValueCoder {
  let name = "JSONEncoder"
  private let encoder = JSONEncoder()
  private let decoder = JSONDecoder()

  func encode<Value: Codable & Sendable>(_ value: Value) throws -> Data { try encoder.encode(value) }

  func decode<Value: Codable & Sendable>(_ type: Value.Type, from archive: Data) throws -> Value {
    try decoder.decode(type, from: archive)
  }
}
