/// Where one scalar after the other is encoded: in an array, and as a single value.
protocol CBORScalarEncoding {
  var buffer: CBOREncodingBuffer { get }
  /// Begins the item of the next value.
  func begin() throws
}

extension CBORScalarEncoding {
  func encodeNil() throws {
    try begin()
    buffer.writer.writeNull()
  }

  func encode(_ value: Bool) throws {
    try begin()
    buffer.writer.writeBool(value)
  }

  func encode(_ value: String) throws {
    try begin()
    buffer.writer.writeText(value)
  }

  func encode(_ value: Double) throws {
    try begin()
    buffer.writer.writeDouble(value)
  }

  func encode(_ value: Float) throws {
    try begin()
    buffer.writer.writeFloat(value)
  }

  @inline(__always)
  func encodeInteger<I: FixedWidthInteger>(_ value: I) throws {
    try begin()
    buffer.writer.writeInteger(value)
  }
}
