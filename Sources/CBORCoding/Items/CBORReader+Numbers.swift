extension CBORReader {
  /// Reads an integer from a head or from a bignum (tags 2 and 3).
  ///
  /// - Throws: `.outOfRange`, `.unexpectedItem`, or an error for a malformed item.
  @inline(__always)
  mutating func readInteger<I: FixedWidthInteger>(_ type: I.Type = I.self) throws(CBORError) -> I {
    let start = offset
    let head = try readHead()
    switch head.initialByte >> 5 {
    case CBORMajorType.unsigned.rawValue:
      guard let value = I(exactly: head.argument) else { throw CBORError(.outOfRange, at: start) }
      return value
    case CBORMajorType.negative.rawValue:
      // -1 - n; n may have 64 bits.
      guard I.isSigned, let magnitude = I(exactly: head.argument) else { throw CBORError(.outOfRange, at: start) }
      return ~magnitude
    case CBORMajorType.tag.rawValue:
      let isNegative = head.argument == CBORTag.negativeBignum
      guard isNegative || head.argument == CBORTag.unsignedBignum else { throw CBORError(.unexpectedItem, at: start) }
      return try readBignum(type, isNegative: isNegative, start)
    default:
      throw CBORError(.unexpectedItem, at: start)
    }
  }

  /// Reads a bignum's byte string, with any number of leading zeros.
  private mutating func readBignum<I: FixedWidthInteger>(
    _ type: I.Type, isNegative: Bool, _ start: Int
  ) throws(CBORError) -> I {
    guard try peekHead().major == .bytes else { throw CBORError(.unexpectedItem, at: start) }
    var magnitude: UInt128 = 0
    var isTooWide = false
    try readChunks(.bytes) { chunk in
      for byte in chunk {
        isTooWide = isTooWide || magnitude >> 120 != 0
        magnitude = magnitude << 8 | UInt128(byte)
      }
    }
    guard !isTooWide, let value = I(exactly: magnitude), I.isSigned || !isNegative else {
      throw CBORError(.outOfRange, at: start)
    }
    return isNegative ? ~value : value
  }

  /// Reads a floating-point number of any precision exactly.
  @inline(__always)
  mutating func readDouble() throws(CBORError) -> Double {
    let start = offset
    let head = try readHead()
    guard let value = head.double else { throw CBORError(.unexpectedItem, at: start) }
    return value
  }

  @inline(__always)
  mutating func readBool() throws(CBORError) -> Bool {
    let start = offset
    let head = try readHead()
    guard head.initialByte & 0xFE == 0xF4 else { throw CBORError(.unexpectedItem, at: start) }
    return head.initialByte == 0xF5
  }

  @inline(__always)
  mutating func readNil() throws(CBORError) -> Bool {
    guard try peekHead().isNil else { return false }
    advance(1)
    return true
  }
}

extension CBORHead {
  /// The floating-point number in this head; `nil` for other items.
  @inline(__always) var double: Double? {
    switch initialByte {
    case 0xFB: Double(bitPattern: argument)
    case 0xFA: Double(Float(bitPattern: UInt32(truncatingIfNeeded: argument)))
    case 0xF9: Double(CBORHalfPrecision.float(UInt16(truncatingIfNeeded: argument)))
    default: nil
    }
  }
}
