import CPlatform
import Foundation

/// Appends data items to its buffer in deterministic encoding (RFC 8949 §4.2.1): shortest heads, definite lengths, and
/// the shortest floating-point number that keeps the value.
///
/// The caller must sort map entries by encoded key and write exactly as many as the head says.
@safe struct CBORWriter: ~Copyable {
  /// The length of the longest head.
  static let longestHead = 9

  private var base: UnsafeMutableRawPointer
  private(set) var capacity: Int
  private(set) var count = 0

  init(capacity: Int = 256) {
    self.capacity = max(capacity, 16)
    unsafe base = unsafe Self.allocated(malloc(self.capacity))
  }

  deinit { unsafe free(base) }

  /// Lends the written bytes to `body`.
  @inline(__always)
  func withBytes<R, E: Error>(_ body: (CBORBytes) throws(E) -> R) throws(E) -> R {
    try unsafe body(CBORBytes(UnsafeRawBufferPointer(start: base, count: count)))
  }

  var data: Data { unsafe Data(bytes: base, count: count) }

  mutating func removeAll() { count = 0 }

  // MARK: Space

  /// Reserves space for `additional` bytes after the written ones.
  @inline(__always)
  mutating func reserve(_ additional: Int) {
    if capacity &- count < additional { grow(additional) }
  }

  @inline(never)
  private mutating func grow(_ additional: Int) {
    capacity = max(capacity * 2, count + additional)
    unsafe base = unsafe Self.allocated(realloc(base, capacity))
  }

  /// As everywhere in Swift, running out of memory is fatal.
  private static func allocated(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer {
    guard let pointer = unsafe pointer else { fatalError("CBORWriter is out of memory.") }
    return unsafe pointer
  }

  /// Appends items encoded elsewhere.
  @inline(__always)
  mutating func append(_ bytes: CBORBytes) {
    reserve(bytes.count)
    if let source = unsafe bytes.pointer.baseAddress { unsafe cplatform_copy(base + count, source, bytes.count) }
    count &+= bytes.count
  }

  mutating func truncate(to offset: Int) {
    precondition(offset >= 0 && offset <= count)
    count = offset
  }

  // MARK: Heads

  /// Appends a head with the shortest argument.
  @inline(__always)
  mutating func writeHead(_ major: CBORMajorType, _ argument: UInt64) {
    reserve(Self.longestHead)
    count &+= put(major, argument, at: count)
  }

  /// Replaces a container's one-byte head. Returns how far this moved the contents.
  @inline(__always)
  @discardableResult
  mutating func setHead(_ major: CBORMajorType, _ count: Int, at start: Int) -> Int {
    guard count < 24 else { return widenHead(major, UInt64(count), at: start) }
    store(major.rawValue << 5 | UInt8(truncatingIfNeeded: count), at: start)
    return 0
  }

  private mutating func widenHead(_ major: CBORMajorType, _ count: UInt64, at start: Int) -> Int {
    let distance = Self.headLength(count) - 1
    reserve(distance)
    let contents = unsafe base + start + 1
    unsafe cplatform_copy(contents + distance, contents, self.count - start - 1)
    self.count += distance
    _ = put(major, count, at: start)
    return distance
  }

  /// Stores a head in reserved space. Returns its length.
  @inline(__always)
  private mutating func put(_ major: CBORMajorType, _ argument: UInt64, at offset: Int) -> Int {
    let type = major.rawValue << 5
    if argument < 24 {
      store(type | UInt8(truncatingIfNeeded: argument), at: offset)
      return 1
    }
    if argument <= 0xFF { return put(type | 24, UInt8(truncatingIfNeeded: argument), at: offset) }
    return putLong(type, argument, at: offset)
  }

  private mutating func putLong(_ type: UInt8, _ argument: UInt64, at offset: Int) -> Int {
    if argument <= 0xFFFF { return put(type | 25, UInt16(truncatingIfNeeded: argument), at: offset) }
    if argument <= 0xFFFF_FFFF { return put(type | 26, UInt32(truncatingIfNeeded: argument), at: offset) }
    return put(type | 27, argument, at: offset)
  }

  @inline(__always)
  private mutating func put<Bits: FixedWidthInteger & BitwiseCopyable>(
    _ byte: UInt8, _ bits: Bits, at offset: Int
  ) -> Int {
    store(byte, at: offset)
    store(bits.bigEndian, at: offset + 1)
    return 1 + MemoryLayout<Bits>.size
  }

  /// Stores bytes in reserved space.
  @inline(__always)
  private mutating func store<Bits: BitwiseCopyable>(_ bits: Bits, at offset: Int) {
    assert(offset >= 0 && offset + MemoryLayout<Bits>.size <= capacity)
    unsafe base.storeBytes(of: bits, toByteOffset: offset, as: Bits.self)
  }

  /// The length of the head with this argument.
  @inline(__always)
  static func headLength(_ argument: UInt64) -> Int {
    if argument < 24 { return 1 }
    if argument <= 0xFF { return 2 }
    if argument <= 0xFFFF { return 3 }
    return argument <= 0xFFFF_FFFF ? 5 : 9
  }

  /// Appends a byte and a fixed-width argument, for floating-point numbers.
  @inline(__always)
  mutating func writeInitialByte<Bits: FixedWidthInteger & BitwiseCopyable>(_ byte: UInt8, _ bits: Bits) {
    reserve(Self.longestHead)
    count &+= put(byte, bits, at: count)
  }

  @inline(__always)
  mutating func writeByte(_ byte: UInt8) {
    reserve(1)
    store(byte, at: count)
    count &+= 1
  }
}

extension CBORWriter {
  // MARK: Numbers

  /// Writes an integer of any width: in a head if it fits 64 bits, else as a bignum (tags 2 and 3).
  @inline(__always)
  mutating func writeInteger<I: FixedWidthInteger>(_ value: I) {
    if I.bitWidth <= 64 {
      if I.isSigned {
        let wide = Int64(truncatingIfNeeded: value)
        // -1 - n has the inverted bits of n.
        writeHead(wide < 0 ? .negative : .unsigned, UInt64(bitPattern: wide < 0 ? ~wide : wide))
      } else {
        writeHead(.unsigned, UInt64(truncatingIfNeeded: value))
      }
    } else if value < 0 {
      writeWideInteger(.negative, CBORTag.negativeBignum, ~value)
    } else {
      writeWideInteger(.unsigned, CBORTag.unsignedBignum, value)
    }
  }

  /// Writes the integer -1 - `argument`, which may exceed all integer types.
  mutating func writeNegative(_ argument: UInt128) {
    writeWideInteger(.negative, CBORTag.negativeBignum, argument)
  }

  @inline(never)
  private mutating func writeWideInteger<I: FixedWidthInteger>(_ major: CBORMajorType, _ tag: UInt64, _ argument: I) {
    if let short = UInt64(exactly: argument) { return writeHead(major, short) }
    let length = (I.bitWidth - argument.leadingZeroBitCount + 7) / 8
    writeTag(tag)
    writeHead(.bytes, UInt64(length))
    for index in stride(from: length - 1, through: 0, by: -1) {
      writeByte(UInt8(truncatingIfNeeded: argument >> (8 * index)))
    }
  }

  /// Writes the shortest of half, single and double precision that keeps the value; NaN in canonical form.
  @inline(__always)
  mutating func writeDouble(_ value: Double) {
    let single = Float(value)
    if Double(single) == value { return writeFloat(single) }
    if value.isNaN { return writeInitialByte(0xF9, CBORHalfPrecision.canonicalNaN) }
    writeInitialByte(0xFB, value.bitPattern)
  }

  /// Writes the shorter of half and single precision that keeps the value; NaN in canonical form.
  @inline(__always)
  mutating func writeFloat(_ value: Float) {
    if value.isNaN { return writeInitialByte(0xF9, CBORHalfPrecision.canonicalNaN) }
    if let half = CBORHalfPrecision.bits(exactly: value) { return writeInitialByte(0xF9, half) }
    writeInitialByte(0xFA, value.bitPattern)
  }

  // MARK: Strings

  @inline(__always)
  mutating func writeBytes(_ bytes: CBORBytes) {
    writeHead(.bytes, UInt64(bytes.count))
    append(bytes)
  }

  mutating func writeBytes(_ data: Data) {
    data.bytes.withBytes { bytes in writeBytes(bytes) }
  }

  /// Writes text from bytes that the caller guarantees to be UTF-8.
  @inline(__always)
  mutating func writeText(utf8 bytes: CBORBytes) {
    writeHead(.text, UInt64(bytes.count))
    append(bytes)
  }

  @inline(__always)
  mutating func writeText(_ text: String) {
    text.withUTF8Bytes { bytes in writeText(utf8: bytes) }
  }

  mutating func writeUUID(_ uuid: UUID) {
    writeTag(CBORTag.uuid)
    unsafe withUnsafeBytes(of: uuid.uuid) { unsafe writeBytes(CBORBytes($0)) }
  }

  // MARK: Containers, tags and simple values

  /// Writes an array's head; `count` items must follow.
  @inline(__always)
  mutating func writeArrayHead(count: Int) { writeHead(.array, UInt64(count)) }

  /// Writes a map's head; `count` key-value pairs must follow, sorted by encoded key.
  @inline(__always)
  mutating func writeMapHead(count: Int) { writeHead(.map, UInt64(count)) }

  /// Writes a tag's head; one item must follow.
  @inline(__always)
  mutating func writeTag(_ number: UInt64) { writeHead(.tag, number) }

  @inline(__always)
  mutating func writeBool(_ value: Bool) { writeByte(value ? 0xF5 : 0xF4) }

  @inline(__always)
  mutating func writeNull() { writeByte(0xF6) }

  mutating func writeUndefined() { writeByte(0xF7) }
}
