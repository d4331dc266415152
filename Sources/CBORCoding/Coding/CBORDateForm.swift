import Foundation

/// The deterministic, lossless encoding of a `Date`.
///
/// 1. Tag 1, seconds since 1970 as an integer or a floating-point number, where that is exact. `Date` counts from 2001
/// in steps half as wide, so half of all fractional dates have no such number.
/// 2. Those use extended time (tag 1001, RFC 9581) with the exact seconds since 1970 as a bigfloat, a mantissa and a
/// base 2 exponent.
/// 3. Dates that need a mantissa of more than 63 bits, within nanoseconds of 2001 or beyond the age of the universe,
/// are plain numbers of seconds since 2001, like `Date`'s own `Codable` form.
enum CBORDateForm {
  static let epochOffset = Date.timeIntervalBetween1970AndReferenceDate
  private static let bigfloatKey = 5

  static func write(_ date: Date, to writer: inout CBORWriter) {
    let seconds = date.timeIntervalSinceReferenceDate
    if let epoch = exactEpoch(seconds) {
      writer.writeTag(CBORTag.epochTime)
      if let integer = Int64(exactly: epoch) { writer.writeInteger(integer) } else { writer.writeDouble(epoch) }
    } else if let (mantissa, exponent) = exactBigfloat(seconds) {
      writer.writeTag(CBORTag.extendedTime)
      writer.writeMapHead(count: 1)
      writer.writeInteger(bigfloatKey)
      writer.writeArrayHead(count: 2)
      writer.writeInteger(exponent)
      writer.writeInteger(mantissa)
    } else {
      writer.writeDouble(seconds)
    }
  }

  /// Seconds since 1970, if both conversions are lossless.
  private static func exactEpoch(_ seconds: Double) -> Double? {
    let epoch = seconds + epochOffset
    guard seconds.isFinite else { return epoch }
    // The exact rounding error of the sum (Knuth's two-sum).
    let part = epoch - seconds
    let error = (seconds - (epoch - part)) + (epochOffset - part)
    return error == 0 && (epoch - epochOffset).bitPattern == seconds.bitPattern ? epoch : nil
  }

  /// Seconds since 1970 as `mantissa` times a power of two.
  private static func exactBigfloat(_ seconds: Double) -> (mantissa: Int64, exponent: Int)? {
    // The exponent of the lowest set bit.
    guard seconds != 0, case let exponent = Int(seconds.ulp.exponent) + seconds.significandBitPattern.trailingZeros,
      exponent < 0, exponent >= -62,
      let own = Int64(exactly: seconds * scale(-exponent)), let offset = Int64(exactly: epochOffset * scale(-exponent))
    else { return nil }
    let (sum, overflow) = own.addingReportingOverflow(offset)
    return overflow ? nil : (sum, exponent)
  }

  /// The date of a mantissa and a base 2 exponent, or `nil` if it would be inexact.
  static func date(mantissa: Int64, exponent: Int) -> Date? {
    guard exponent < 0, exponent >= -62, let offset = Int64(exactly: epochOffset * scale(-exponent)) else {
      guard exponent >= 0, exponent < 1024 else { return nil }
      return Date(timeIntervalSince1970: Double(mantissa) * scale(exponent))
    }
    let (own, overflow) = mantissa.subtractingReportingOverflow(offset)
    return overflow ? nil : Date(timeIntervalSinceReferenceDate: Double(own) * scale(exponent))
  }

  private static func scale(_ exponent: Int) -> Double { Double(sign: .plus, exponent: exponent, significand: 1) }
}

extension UInt64 {
  /// Trailing zeros of a 52-bit significand without its leading one.
  fileprivate var trailingZeros: Int { self == 0 ? 52 : trailingZeroBitCount }
}
