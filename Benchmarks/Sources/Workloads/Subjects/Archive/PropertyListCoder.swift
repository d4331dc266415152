import Foundation

/// Binary property lists, with an array as the root, since it cannot be a number or a string.
struct PropertyListCoder: ValueCoder {
  let name = "PropertyListEncoder"
  private let encoder = PropertyListEncoder()
  private let decoder = PropertyListDecoder()

  init() { encoder.outputFormat = .binary }

  func encode<Value: Codable & Sendable>(_ value: Value) throws -> Data { try encoder.encode([value]) }

  func decode<Value: Codable & Sendable>(_ type: Value.Type, from archive: Data) throws -> Value {
    guard let value = try decoder.decode([Value].self, from: archive).first else {
      throw WorkloadError("The property list is empty.")
    }
    return value
  }
}
