import Foundation

/// Copies bytes to newly allocated ones: the lower bound for `Data`.
struct MemoryCopy: ValueCoder {
  let name = "memcpy"

  func encode<Value: Codable & Sendable>(_ value: Value) throws -> Data {
    guard let data = value as? Data else { throw WorkloadError("Only bytes are copied.") }
    return copy(data)
  }

  func decode<Value: Codable & Sendable>(_ type: Value.Type, from archive: Data) throws -> Value {
    guard let data = copy(archive) as? Value else { throw WorkloadError("Only bytes are copied.") }
    return data
  }

  private func copy(_ data: Data) -> Data {
    data.withUnsafeBytes { bytes in bytes.baseAddress.map { Data(bytes: $0, count: bytes.count) } ?? Data() }
  }
}
