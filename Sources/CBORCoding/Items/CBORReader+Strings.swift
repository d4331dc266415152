extension CBORReader {
  /// Reads a text string.
  ///
  /// - Throws: `.invalidUTF8`, `.unexpectedItem`, or an error for a malformed item.
  mutating func readText() throws(CBORError) -> String {
    let start = offset
    if let bytes = try readDefinite(.text) { return try Self.text(bytes, at: start) }
    // Each chunk must be valid text by itself (RFC 8949 §3.2.3): scalars are never split.
    var text = ""
    try readChunks(.text) { (chunk) throws(CBORError) in text += try Self.text(chunk, at: start) }
    return text
  }

  mutating func readByteString() throws(CBORError) -> [UInt8] {
    if let bytes = try readDefinite(.bytes) { return Array(bytes) }
    var all: [UInt8] = []
    try readChunks(.bytes) { chunk in all.append(contentsOf: chunk) }
    return all
  }

  /// Reads the unchecked bytes of a string of definite length; `nil`, without moving, for an indefinite one.
  ///
  /// - Throws: `.unexpectedItem` for another type, `.lengthOverInput`.
  @inline(__always)
  mutating func readDefinite(_ major: CBORMajorType) throws(CBORError) -> UnsafeRawBufferPointer? {
    let start = offset
    let head = try readHead()
    guard head.initialByte >> 5 == major.rawValue else { throw CBORError(.unexpectedItem, at: start) }
    if head.isIndefinite {
      rewind(to: start)
      return nil
    }
    return try slice(head.argument, start)
  }

  /// Reads a string of either form and passes its unchecked bytes to `body` chunk by chunk.
  mutating func readChunks(
    _ major: CBORMajorType, _ body: (UnsafeRawBufferPointer) throws(CBORError) -> Void
  ) throws(CBORError) {
    let start = offset
    let head = try readHead()
    guard head.major == major else { throw CBORError(.unexpectedItem, at: start) }
    guard head.isIndefinite else { return try body(try slice(head.argument, start)) }
    while try !readBreak() {
      let start = offset
      let head = try readHead()
      guard head.major == major, !head.isIndefinite else { throw CBORError(.wrongChunk, at: start) }
      try body(try slice(head.argument, start))
    }
  }

  @inline(__always)
  private mutating func slice(_ length: UInt64, _ start: Int) throws(CBORError) -> UnsafeRawBufferPointer {
    guard length <= UInt64(remaining) else { throw CBORError(.lengthOverInput, at: start) }
    let count = Int(truncatingIfNeeded: length)
    let slice = UnsafeRawBufferPointer(start: bytes.baseAddress.unsafelyUnwrapped + offset, count: count)
    advance(count)
    return slice
  }

  @inline(__always)
  private static func text(_ bytes: UnsafeRawBufferPointer, at start: Int) throws(CBORError) -> String {
    guard isUTF8(bytes) else { throw CBORError(.invalidUTF8, at: start) }
    return String(utf8: bytes)
  }
}
