/// What a record holds in place of a value that is in a file: the file's name, in two words, the value's checksum and
/// length.
struct ValueFileReference: Equatable {
  static let size = 32

  /// The journal that the record is written to.
  let owner: UInt64
  /// Tells the files of one owner apart.
  let number: UInt64
  /// XXH3 of the value.
  let valueHash: UInt64
  /// Bytes of the value.
  let length: Int

  init(owner: UInt64, valueHash: UInt64, length: Int) {
    self.length = length
    self.owner = owner
    number = .random(in: .min ... .max)
    self.valueHash = valueHash
  }

  init(_ bytes: UnsafeRawBufferPointer) {
    owner = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
    number = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    valueHash = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
    length = Int(littleEndian: bytes.loadUnaligned(fromByteOffset: 24, as: Int.self))
  }

  func write(to bytes: UnsafeMutableRawPointer) {
    bytes.storeBytes(of: owner.littleEndian, as: UInt64.self)
    bytes.storeBytes(of: number.littleEndian, toByteOffset: 8, as: UInt64.self)
    bytes.storeBytes(of: valueHash.littleEndian, toByteOffset: 16, as: UInt64.self)
    bytes.storeBytes(of: length.littleEndian, toByteOffset: 24, as: Int.self)
  }

  var name: String {
    func digits(_ value: UInt64) -> String {
      let text = String(value, radix: 16)
      return String(repeating: "0", count: 16 - text.count) + text
    }
    return digits(owner) + digits(number)
  }

  /// The owner of the file of that name, or `nil` if it is none of these.
  static func owner(ofName name: String) -> UInt64? {
    guard name.utf8.count == 32,
      name.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
    else { return nil }
    return UInt64(name.prefix(16), radix: 16)
  }
}
