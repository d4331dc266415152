import CXXHash

/// A value in a segment of the value log, with its key:
///
///     offset  bytes
///          0      4  "LVE1"
///          4      4  length of the key
///          8      8  length of the value
///         16      8  XXH3 of the value
///         24      8  check of the bytes before it and the key, bound to segment and offset
///         32      …  LMDB's key of the record, padded to 16 bytes; then the value
///
/// Entries begin at multiples of 16 bytes.
struct ValueEntry {
  static let alignment = 16
  static let headSize = 32
  /// The size of a head with the longest key.
  static let greatestHead = headSize + DatabaseKey.maximumLength + 1
  private static let magic: UInt32 = 0x3145_564C
  static let magicBytes = withUnsafeBytes(of: magic.littleEndian) { Array($0) }

  let offset: Int
  let keyLength: Int
  let length: Int
  let hash: UInt64

  var valueOffset: Int { offset + Self.headLength(keyLength) }
  var end: Int { offset + Self.size(keyLength: keyLength, length: length) }

  func pointer(_ segment: UInt64) -> ValuePointer {
    ValuePointer(segment: segment, offset: valueOffset, length: length, hash: hash)
  }

  @inline(__always)
  static func padded(_ count: Int) -> Int { (count &+ (alignment - 1)) & ~(alignment - 1) }

  /// The length of the head with its key.
  @inline(__always)
  static func headLength(_ keyLength: Int) -> Int { headSize + padded(keyLength) }

  @inline(__always)
  static func size(keyLength: Int, length: Int) -> Int { headLength(keyLength) &+ padded(length) }

  /// Writes the head, and zeros its padding.
  func writeHead(to base: UnsafeMutableRawPointer, key: UnsafeRawBufferPointer, segment: UInt64) {
    base.storeBytes(of: Self.magic.littleEndian, as: UInt32.self)
    base.storeBytes(of: UInt32(keyLength).littleEndian, toByteOffset: 4, as: UInt32.self)
    base.storeBytes(of: length.littleEndian, toByteOffset: 8, as: Int.self)
    base.storeBytes(of: hash.littleEndian, toByteOffset: 16, as: UInt64.self)
    let padding = Self.padded(keyLength) - keyLength
    (base + Self.headSize + keyLength).initializeMemory(as: UInt8.self, repeating: 0, count: padding)
    (base + Self.headSize).copyMemory(from: key.baseAddress!, byteCount: keyLength)
    base.storeBytes(
      of: Self.check(base, keyLength: keyLength, segment, offset).littleEndian, toByteOffset: 24, as: UInt64.self)
  }

  private static func check(_ base: UnsafeRawPointer, keyLength: Int, _ segment: UInt64, _ offset: Int) -> UInt64 {
    let seed = segment ^ UInt64(truncatingIfNeeded: offset) &* 0x9E37_79B9_7F4A_7C15
    return cxxhash_64(base + headSize, keyLength, cxxhash_64(base, 24, seed))
  }

  /// Parses the entry that begins with `bytes`; returns `nil` for other bytes.
  ///
  /// - Parameter limit: The file's size.
  init?(_ bytes: UnsafeRawBufferPointer, at offset: Int, in segment: UInt64, limit: Int) {
    guard bytes.count >= Self.headSize, let base = bytes.baseAddress,
      UInt32(littleEndian: base.loadUnaligned(as: UInt32.self)) == Self.magic
    else { return nil }
    self.offset = offset
    keyLength = Int(UInt32(littleEndian: base.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
    length = Int(littleEndian: base.loadUnaligned(fromByteOffset: 8, as: Int.self))
    hash = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
    guard 1...DatabaseKey.maximumLength ~= keyLength, Self.headSize + keyLength <= bytes.count,
      0...ValuePointer.greatestLength ~= length,
      length <= limit - offset - Self.headLength(keyLength),
      UInt64(littleEndian: base.loadUnaligned(fromByteOffset: 24, as: UInt64.self))
        == Self.check(base, keyLength: keyLength, segment, offset)
    else { return nil }
  }

  init(offset: Int, keyLength: Int, length: Int, hash: UInt64) {
    self.offset = offset
    self.keyLength = keyLength
    self.length = length
    self.hash = hash
  }
}
