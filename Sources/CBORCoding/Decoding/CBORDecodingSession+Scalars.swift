import Foundation

// Values that are one item.

extension CBORDecodingSession {
  @inline(__always)
  func bool(at position: CBORPosition) throws(CBORValueError) -> Bool {
    let head = untaggedHead(position)
    guard head.initialByte & 0xFE == 0xF4 else { throw head.mismatch }
    return head.initialByte == 0xF5
  }

  @inline(__always)
  func string(at position: CBORPosition) throws(CBORValueError) -> String {
    var position = position
    document.skipTags(&position)
    return try readString(&position)
  }

  @inline(__always)
  func readString(_ position: inout CBORPosition) throws(CBORValueError) -> String {
    let head = document.readHead(&position)
    guard head.major == .text else { throw head.mismatch }
    // The scan has validated the UTF-8.
    return String(utf8: document.readContent(head, &position))
  }

  // MARK: Numbers

  /// Reads an integer, also from a bignum or a floating-point number.
  @inline(__always)
  func integer<I: FixedWidthInteger>(_ type: I.Type, at position: CBORPosition) throws(CBORValueError) -> I {
    var content = position
    let head = document.readHead(&content)
    if head.initialByte >> 5 == CBORMajorType.unsigned.rawValue, let value = I(exactly: head.argument) { return value }
    return try otherInteger(type, at: position)
  }

  @inline(never)
  private func otherInteger<I: FixedWidthInteger>(
    _ type: I.Type, at position: CBORPosition
  ) throws(CBORValueError) -> I {
    var content = position
    var head = document.readHead(&content)
    while head.major == .tag {
      if head.argument == CBORTag.unsignedBignum || head.argument == CBORTag.negativeBignum {
        guard let (magnitude, isNegative) = try bignum(head.argument, content) else { throw outOfRange(type, nil) }
        guard let value = I(exactly: magnitude), I.isSigned || !isNegative else { throw outOfRange(type, nil) }
        return isNegative ? ~value : value
      }
      head = document.readHead(&content)
    }
    switch head.major {
    case .unsigned:
      guard let value = I(exactly: head.argument) else { throw outOfRange(type, "\(head.argument)") }
      return value
    case .negative:
      guard I.isSigned, let value = I(exactly: head.argument) else {
        throw outOfRange(type, "\(-1 - Int128(head.argument))")
      }
      return ~value
    default:
      guard let double = head.double else { throw head.mismatch }
      guard let value = I(exactly: double) else { throw outOfRange(type, "\(double)") }
      return value
    }
  }

  /// The magnitude n of a bignum, whose value is n or -1 - n; `nil` beyond 128 bits.
  func bignum(
    _ tag: UInt64, _ position: CBORPosition
  ) throws(CBORValueError) -> (magnitude: UInt128, isNegative: Bool)? {
    var position = position
    document.skipTags(&position)
    let head = document.readHead(&position)
    guard head.major == .bytes else {
      throw .corrupted("A large integer (tag \(tag)) is not a byte string, but \(head.typeDescription).")
    }
    var magnitude: UInt128 = 0
    for byte in document.readContent(head, &position) {
      guard magnitude >> 120 == 0 else { return nil }
      magnitude = magnitude << 8 | UInt128(byte)
    }
    return (magnitude, tag == CBORTag.negativeBignum)
  }

  private func outOfRange(_ type: Any.Type, _ number: String?) -> CBORValueError {
    .corrupted("The number \(number ?? "there") does not fit in \(type). Decode a wider type.")
  }

  /// Reads a floating-point number, or an integer that converts exactly.
  @inline(__always)
  func double(at position: CBORPosition) throws(CBORValueError) -> Double {
    let head = untaggedHead(position)
    if let value = head.double { return value }
    return try integerAsDouble(at: position)
  }

  /// Reads the nearest value to a floating-point number, like `JSONDecoder`, or an integer that converts exactly.
  @inline(__always)
  func float(at position: CBORPosition) throws(CBORValueError) -> Float {
    let head = untaggedHead(position)
    if head.initialByte == 0xFA { return Float(bitPattern: UInt32(truncatingIfNeeded: head.argument)) }
    guard let double = head.double else {
      let double = try integerAsDouble(at: position)
      guard let value = Float(exactly: double) else { throw outOfRange(Float.self, "\(double)") }
      return value
    }
    let value = Float(double)
    guard value.isFinite || !double.isFinite else { throw outOfRange(Float.self, "\(double)") }
    return value
  }

  @inline(never)
  private func integerAsDouble(at position: CBORPosition) throws(CBORValueError) -> Double {
    var content = position
    var head = document.readHead(&content)
    while head.major == .tag && head.argument != CBORTag.unsignedBignum && head.argument != CBORTag.negativeBignum {
      head = document.readHead(&content)
    }
    switch head.major {
    case .unsigned, .negative, .tag:
      let integer: Int128
      do throws(CBORValueError) {
        integer = try otherInteger(Int128.self, at: position)
      } catch {
        guard case .corrupted = error else { throw error }
        throw outOfRange(Double.self, nil)
      }
      guard let value = Double(exactly: integer) else { throw outOfRange(Double.self, "\(integer)") }
      return value
    default: throw head.mismatch
    }
  }

  @inline(__always)
  func untaggedHead(_ position: CBORPosition) -> CBORHead {
    var position = position
    document.skipTags(&position)
    return document.readHead(&position)
  }
}
