import Foundation

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
  mutating func writeBytes(_ bytes: UnsafeRawBufferPointer) {
    writeHead(.bytes, UInt64(bytes.count))
    append(bytes)
  }

  mutating func writeBytes(_ data: Data) {
    data.withUnsafeBytes { bytes in writeBytes(bytes) }
  }

  /// Writes text from bytes that the caller guarantees to be UTF-8.
  @inline(__always)
  mutating func writeText(utf8 bytes: UnsafeRawBufferPointer) {
    writeHead(.text, UInt64(bytes.count))
    append(bytes)
  }

  @inline(__always)
  mutating func writeText(_ text: String) {
    text.withUTF8Bytes { bytes in writeText(utf8: bytes) }
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

  /// Writes a simple value; 24 to 31 are invalid.
  mutating func writeSimple(_ value: UInt8) {
    precondition(value < 24 || value > 31, "Simple values from 24 to 31 are reserved.")
    writeHead(.simple, UInt64(value))
  }
}
