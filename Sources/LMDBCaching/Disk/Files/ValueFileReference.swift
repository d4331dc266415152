/// What a record holds in place of a value that is in a file: the file's name, the value's checksum and length.
struct ValueFileReference: Equatable {
  static let size = 32

  let high: UInt64
  let low: UInt64
  /// XXH3 of the value.
  let valueHash: UInt64
  /// Bytes of the value.
  let length: Int

  init(valueHash: UInt64, length: Int) {
    self.length = length
    high = .random(in: .min ... .max)
    low = .random(in: .min ... .max)
    self.valueHash = valueHash
  }

  init(_ bytes: UnsafeRawBufferPointer) {
    high = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
    low = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    valueHash = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
    length = Int(littleEndian: bytes.loadUnaligned(fromByteOffset: 24, as: Int.self))
  }

  func write(to bytes: UnsafeMutableRawPointer) {
    bytes.storeBytes(of: high.littleEndian, as: UInt64.self)
    bytes.storeBytes(of: low.littleEndian, toByteOffset: 8, as: UInt64.self)
    bytes.storeBytes(of: valueHash.littleEndian, toByteOffset: 16, as: UInt64.self)
    bytes.storeBytes(of: length.littleEndian, toByteOffset: 24, as: Int.self)
  }

  var name: String {
    func digits(_ value: UInt64) -> String {
      let text = String(value, radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }
    return digits(high) + digits(low)
  }
}
