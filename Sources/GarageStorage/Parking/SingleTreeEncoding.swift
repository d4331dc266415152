import Platform

struct SingleTreeEncoding: SingleValueEncodingContainer {
  let encoder: TreeEncoder

  var codingPath: [any CodingKey] { encoder.codingPath }

  private func put(_ value: JSONValue) {
    guard encoder.slot.isEmpty else { return encoder.session.fail(encoder.conflict("a value")) }
    encoder.slot.set(value)
  }

  func encodeNil() { put(.null) }
  func encode(_ value: Bool) { put(.bool(value)) }
  func encode(_ value: String) { put(.string(value)) }
  func encode(_ value: Double) { put(JSONValue(value)) }
  func encode(_ value: Float) { put(JSONValue(value)) }
  func encode<I: FixedWidthInteger & Encodable>(_ value: I) { put(.number(String(value))) }

  func encode<T: Encodable>(_ value: T) throws {
    guard encoder.slot.isEmpty else { return encoder.session.fail(encoder.conflict("a value")) }
    try encoder.session.encode(value, into: encoder.slot, at: codingPath)
  }
}
