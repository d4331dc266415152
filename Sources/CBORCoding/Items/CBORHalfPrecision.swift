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
