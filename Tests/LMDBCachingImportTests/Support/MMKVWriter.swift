import Foundation

struct MMKVWriter {
  /// The start of the contents, a meaningless number; four bytes since version 1.2.
  var head: [UInt8] = [0xFF, 0xFF, 0xFF, 0x07]
  var version: UInt32 = 4
  var vector = [UInt8](repeating: 0, count: 16)
  /// Flags: 1 – values end with their expiry time.
  var flags: UInt64 = 0
  private(set) var pairs: [UInt8] = []

  var contents: [UInt8] { head + pairs }

  mutating func add(_ key: String, _ value: [UInt8]) { pairs += Self.held(Array(key.utf8)) + Self.held(value) }

  mutating func add(_ key: String, text: String) { add(key, Self.held(Array(text.utf8))) }

  mutating func append(_ bytes: [UInt8]) { pairs += bytes }

  /// A varint: seven bits a byte, the lowest first.
  static func number(_ value: UInt64) -> [UInt8] {
    var (bytes, rest): ([UInt8], UInt64) = ([], value)
    while rest > 0x7F {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  static func number(_ value: Int64) -> [UInt8] { number(UInt64(bitPattern: value)) }

  /// Bytes after their length.
  static func held(_ bytes: [UInt8]) -> [UInt8] { number(UInt64(bytes.count)) + bytes }

  static func word(_ value: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { Array($0) }
  }

  /// CRC-32, bit by bit.
  static func checksum(_ bytes: [UInt8]) -> UInt32 {
    var sum = ~UInt32(0)
    for byte in bytes {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
    return ~sum
  }

  /// The file: length, contents, and zeros up to the end of a page.
  var file: [UInt8] {
    let bytes = Self.word(UInt32(contents.count)) + contents
    return bytes + [UInt8](repeating: 0, count: 4096 - bytes.count % 4096)
  }

  /// The `.crc` file.
  var metadata: [UInt8] {
    metadata(checksum: Self.checksum(contents), length: contents.count, lastChecksum: 0, lastLength: 0)
  }

  func metadata(checksum: UInt32, length: Int, lastChecksum: UInt32, lastLength: Int) -> [UInt8] {
    let words = Self.word(checksum) + Self.word(version) + Self.word(UInt32(3)) + vector
    let later = Self.word(UInt32(length)) + Self.word(UInt32(lastLength)) + Self.word(lastChecksum)
    let bytes = words + later + [UInt8](repeating: 0, count: 64) + Self.word(flags)
    return bytes + [UInt8](repeating: 0, count: 4096 - bytes.count)
  }

  func write(to place: Place, as name: String) throws {
    try place.write(file, to: name)
    try place.write(metadata, to: name + ".crc")
  }
}
