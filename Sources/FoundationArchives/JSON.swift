package import Foundation

/// JSON for all floating-point numbers: nonfinite ones are the strings "Infinity", "-Infinity" and "NaN".
package enum JSON {
  /// - Throws: Also if the value could not be read back, such as `Decimal.nan` or deep nesting.
  package static func data<Value: Codable>(of value: Value) throws -> Data {
    let encoder = JSONEncoder()
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    let data = try encoder.encode(value)
    do { _ = try self.value(Value.self, from: data) } catch {
      throw EncodingError.invalidValue(
        value,
        .init(
          codingPath: [], debugDescription: "JSON does not give this value back. Store what it holds as text or data.",
          underlyingError: error))
    }
    return data
  }

  package static func value<Value: Decodable>(_ type: Value.Type, from data: Data) throws -> Value {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
    return try decoder.decode(type, from: data)
  }
}
