/// Reads MMKV's protobuf numbers and byte runs from untrusted input.
struct MMKVBytes {
  private let bytes: [UInt8]
  private(set) var position: Int
  private let end: Int

  init(_ bytes: [UInt8], _ range: Range<Int>) {
    self.bytes = bytes
    position = range.lowerBound
    end = range.upperBound
  }

  var isAtEnd: Bool { position >= end }

  /// Reads a number, seven bits a byte, lowest first; `nil` if it does not end or exceeds 64 bits.
  mutating func number() -> UInt64? {
    var value: UInt64 = 0
    for shift in stride(from: 0, to: 70, by: 7) {
      guard position < end else { return nil }
      let byte = bytes[position]
      position += 1
      if shift == 63, byte > 1 { return nil }
      value |= UInt64(byte & 0x7F) << UInt64(shift)
      if byte & 0x80 == 0 { return value }
    }
    return nil
  }

  /// The range of a length-prefixed run of bytes; `nil` if it is too long.
  mutating func run() -> Range<Int>? {
    guard let count = number(), count <= UInt64(end - position) else { return nil }
    defer { position += Int(count) }
    return position..<position + Int(count)
  }
}
