/// The first bytes of a data item: its type and argument (RFC 8949 §3).
struct CBORHead: Equatable {
  /// The additional information for an indefinite length.
  static let indefinite: UInt8 = 31
  /// The byte that ends an item of indefinite length.
  static let breakByte: UInt8 = 0xFF

  let initialByte: UInt8
  /// The value, length, count, tag number, simple value or floating-point bits; 0 if indefinite.
  let argument: UInt64

  // Three bits for eight cases with consecutive raw values.
  @inline(__always) var major: CBORMajorType { unsafeBitCast(initialByte >> 5, to: CBORMajorType.self) }
  @inline(__always) var information: UInt8 { initialByte & 0x1F }
  @inline(__always) var isIndefinite: Bool { information == Self.indefinite }
  @inline(__always) var isBreak: Bool { initialByte == Self.breakByte }
  /// Whether this is a floating-point number, whose width is ``information``: 25, 26 or 27.
  @inline(__always) var isFloat: Bool { initialByte >= 0xF9 && initialByte <= 0xFB }
  @inline(__always) var isNil: Bool { initialByte == 0xF6 || initialByte == 0xF7 }
}
