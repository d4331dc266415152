import Foundation

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
  @inline(__always) var major: CBORMajorType { unsafe unsafeBitCast(initialByte >> 5, to: CBORMajorType.self) }
  @inline(__always) var information: UInt8 { initialByte & 0x1F }
  @inline(__always) var isIndefinite: Bool { information == Self.indefinite }
  @inline(__always) var isBreak: Bool { initialByte == Self.breakByte }
  /// Whether this is a floating-point number, whose width is ``information``: 25, 26 or 27.
  @inline(__always) var isFloat: Bool { initialByte >= 0xF9 && initialByte <= 0xFB }
  @inline(__always) var isNil: Bool { initialByte == 0xF6 || initialByte == 0xF7 }
}

/// A data item's type: the three high bits of its head (RFC 8949 §3.1).
enum CBORMajorType: UInt8 {
  case unsigned = 0
  case negative = 1
  case bytes = 2
  case text = 3
  case array = 4
  case map = 5
  case tag = 6
  /// Simple values, floating-point numbers and the break.
  case simple = 7
}

/// Tag numbers registered with IANA.
enum CBORTag {
  /// A date and time as RFC 3339 text (RFC 8949 §3.4.1).
  static let dateTime: UInt64 = 0
  /// Seconds since 1970-01-01 00:00 UTC, integer or floating-point (RFC 8949 §3.4.2).
  static let epochTime: UInt64 = 1
  /// An unsigned integer as a big-endian byte string (RFC 8949 §3.4.3).
  static let unsignedBignum: UInt64 = 2
  /// The integer -1 - n, with n as a byte string (RFC 8949 §3.4.3).
  static let negativeBignum: UInt64 = 3
  /// An array of a base 10 exponent and a mantissa (RFC 8949 §3.4.4).
  static let decimalFraction: UInt64 = 4
  /// A URI as text (RFC 8949 §3.4.5.3).
  static let uri: UInt64 = 32
  /// A UUID as a big-endian byte string (RFC 9562).
  static let uuid: UInt64 = 37
  /// A point in time as a map (RFC 9581 §3).
  static let extendedTime: UInt64 = 1001
}

/// Half-precision numbers by their bits, as `Float16` is not available on all platforms.
enum CBORHalfPrecision {
  static let infinity: UInt16 = 0x7C00
  /// The only encoding of NaN (RFC 8949 §4.2.2).
  static let canonicalNaN: UInt16 = 0x7E00

  /// The half with the exact value of `value`, which is not NaN; `nil` if there is none.
  @inline(__always)
  static func bits(exactly value: Float) -> UInt16? {
    let bits = value.bitPattern
    let sign = UInt16(truncatingIfNeeded: bits >> 16) & 0x8000
    let significand = bits & 0x7F_FFFF
    switch Int32(bits >> 23 & 0xFF) - 127 {
    case -127:
      return significand == 0 ? sign : nil
    case 128:
      return sign | infinity
    case let exponent where exponent >= -14 && exponent <= 15:
      guard significand & 0x1FFF == 0 else { return nil }
      return sign | UInt16(truncatingIfNeeded: (exponent + 15) << 10) | UInt16(truncatingIfNeeded: significand >> 13)
    case let exponent where exponent >= -24 && exponent < -14:
      let shift = UInt32(13 - 14 - exponent)
      let full = significand | 0x80_0000
      guard full & (1 << shift &- 1) == 0 else { return nil }
      return sign | UInt16(truncatingIfNeeded: full >> shift)
    default:
      return nil
    }
  }

  /// Exact for every half; keeps a NaN's payload.
  @inline(__always)
  static func float(_ half: UInt16) -> Float {
    let sign = UInt32(half & 0x8000) << 16
    let exponent = UInt32(half >> 10 & 0x1F)
    let significand = UInt32(half & 0x3FF)
    switch exponent {
    case 0:
      // Zero or subnormal: a multiple of 2^-24.
      let magnitude = Float(significand) * 0x1p-24
      return Float(bitPattern: sign | magnitude.bitPattern)
    case 31:
      return Float(bitPattern: sign | 0x7F80_0000 | significand << 13)
    default:
      return Float(bitPattern: sign | (exponent + 112) << 23 | significand << 13)
    }
  }
}

extension String {
  /// A string from bytes, with invalid UTF-8 replaced. Binding the bytes to a type first is a quarter faster.
  @inline(__always)
  init(utf8 bytes: CBORBytes) {
    unsafe self.init(decoding: bytes.pointer.assumingMemoryBound(to: UInt8.self), as: UTF8.self)
  }

  /// Calls `body` with the string's UTF-8, without a copy for native strings.
  @inline(__always)
  func withUTF8Bytes<R>(_ body: (CBORBytes) -> R) -> R {
    let result = unsafe utf8.withContiguousStorageIfAvailable { unsafe body(CBORBytes(UnsafeRawBufferPointer($0))) }
    return unsafe result ?? Array(utf8).withUnsafeBytes { unsafe body(CBORBytes($0)) }
  }

  /// The string for messages: quoted, and cut if it is long.
  var quoted: String { utf8.count <= 80 ? "\"\(self)\"" : "\"\(prefix(60))…\" (\(utf8.count) bytes)" }
}

/// Borrowed bytes. Their owner keeps them in place while this is in use. Reads are checked against the bounds.
@safe struct CBORBytes {
  private let base: UnsafeRawPointer
  let count: Int

  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    unsafe base = unsafe bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped
    count = bytes.count
  }

  static var none: CBORBytes { unsafe CBORBytes(UnsafeRawBufferPointer(start: nil, count: 0)) }

  @inline(__always) var isEmpty: Bool { count == 0 }
  var array: [UInt8] { unsafe Array(pointer) }
  /// For calls that need a pointer.
  @inline(__always) var pointer: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

  @inline(__always)
  subscript(offset: Int) -> UInt8 {
    precondition(UInt(bitPattern: offset) < UInt(bitPattern: count))
    return unsafe base.load(fromByteOffset: offset, as: UInt8.self)
  }

  /// The byte at an offset that is known to be within the bounds. Only debug builds check it.
  @unsafe @inline(__always)
  func byte(_ offset: Int) -> UInt8 {
    assert(offset >= 0 && offset < count)
    return unsafe base.load(fromByteOffset: offset, as: UInt8.self)
  }

  @inline(__always)
  subscript(range: Range<Int>) -> CBORBytes {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    return unsafe CBORBytes(UnsafeRawBufferPointer(start: base + range.lowerBound, count: range.count))
  }

  @inline(__always)
  subscript(range: PartialRangeFrom<Int>) -> CBORBytes { self[range.lowerBound..<count] }

  /// The big-endian number at an offset.
  @inline(__always)
  func load<Number: FixedWidthInteger & BitwiseCopyable>(_ type: Number.Type, at offset: Int) -> Number {
    precondition(offset >= 0 && offset <= count &- MemoryLayout<Number>.size)
    return unsafe Number(bigEndian: base.loadUnaligned(fromByteOffset: offset, as: Number.self))
  }

  /// The order of text with these bytes in deterministic encoding: by length, then by byte. Negative if this is first.
  @inline(__always)
  func order(_ other: CBORBytes) -> Int {
    unsafe count == other.count ? Int(memcmp(base, other.base, count)) : count &- other.count
  }

  /// The order of the bytes at two offsets.
  @inline(__always)
  func order(_ first: Int, _ second: Int, count length: Int) -> Int {
    precondition(first >= 0 && second >= 0 && length >= 0 && max(first, second) <= count &- length)
    return unsafe Int(memcmp(base + first, base + second, length))
  }
}

extension RawSpan {
  @inline(__always)
  func withBytes<R, E: Error>(_ body: (CBORBytes) throws(E) -> R) throws(E) -> R {
    try unsafe withUnsafeBytes { (bytes) throws(E) in try unsafe body(CBORBytes(bytes)) }
  }
}

/// A map's values by the bytes of their keys, which must outlive it.
struct KeyIndex<Value> {
  private var entries: [(key: CBORBytes, value: Value)] = []

  mutating func append(_ key: CBORBytes, _ value: Value) { entries.append((key, value)) }

  /// Required before a search, unless the keys were appended in order.
  mutating func sort() { entries.sort { $0.key.order($1.key) < 0 } }

  func value(_ key: CBORBytes) -> Value? {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      let order = entries[middle].key.order(key)
      if order == 0 { return entries[middle].value }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }
}
