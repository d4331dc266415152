/// Converts indefinite lengths to definite ones, so that all other code handles only those.
///
/// Such documents come from other programs; this package never writes them.
enum CBORDefiniteForm {
  /// Writes the same items with definite lengths. `tape` is from a scan of `bytes`.
  ///
  /// They may be longer: a count of 256 or more takes more bytes than an indefinite head and a break.
  ///
  /// - Throws: `.tooLarge` beyond `limit` bytes.
  static func write(
    _ bytes: UnsafeRawBufferPointer, _ tape: borrowing CBORTape, to writer: inout CBORWriter, limit: Int
  ) throws(CBORError) {
    var reader = CBORReader(bytes)
    var entry = 0
    while !reader.isAtEnd {
      let start = reader.offset
      let head = try reader.readHead()
      // The break of an array or map; those of strings are read with them.
      if head.isBreak { continue }
      switch head.major {
      case .array, .map:
        writer.writeHead(head.major, UInt64(tape[entry].count))
        entry += 1
      case .bytes, .text:
        try writeString(head, start, &reader, &writer)
      case .unsigned, .negative, .tag, .simple:
        writer.append(UnsafeRawBufferPointer(rebasing: bytes[start..<reader.offset]))
      }
      guard writer.count <= limit else { throw CBORError(.tooLarge, at: start) }
    }
  }

  private static func writeString(
    _ head: CBORHead, _ start: Int, _ reader: inout CBORReader, _ writer: inout CBORWriter
  ) throws(CBORError) {
    reader.rewind(to: start)
    var length = 0
    try reader.readChunks(head.major) { chunk in length += chunk.count }
    writer.writeHead(head.major, UInt64(length))
    reader.rewind(to: start)
    try reader.readChunks(head.major) { chunk in writer.append(chunk) }
  }
}
