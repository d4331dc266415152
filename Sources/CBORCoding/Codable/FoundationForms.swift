import Foundation
import FoundationObjects

/// The deterministic, lossless encoding of a `Date`:
///
/// 1. Tag 1, seconds since 1970, where that is exact. `Date` counts from 2001 in steps half as wide.
/// 2. Extended time (tag 1001, RFC 9581) with the exact seconds since 1970 as a bigfloat.
/// 3. For a mantissa of more than 63 bits, the seconds since 2001, like `Date`'s own `Codable` form.
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

/// Dates in RFC 3339 §5.6 text: "2013-03-21T20:04:00Z", optionally with fractional seconds, and with "Z" or a UTC
/// offset.
enum RFC3339Date {
  /// Days of a common year before each month, and before the next year.
  private static let monthStarts = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365]

  /// Returns `nil` for other text and invalid dates. A leap second becomes the following second.
  static func date(of text: String) -> Date? {
    var scanner = Scanner(bytes: Array(text.utf8))
    return scanner.date()
  }

  private struct Scanner {
    let bytes: [UInt8]
    private var index = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func date() -> Date? {
      guard let year = number(4), pass("-"), let month = number(2), pass("-"), let day = number(2),
        let days = RFC3339Date.days(year, month, day), pass("T") || pass("t"),
        let hour = number(2), hour < 24, pass(":"), let minute = number(2), minute < 60, pass(":"),
        let second = number(2), second <= 60, let fraction = fraction(), let offset = offset(), index == bytes.count
      else { return nil }
      let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
      return Date(timeIntervalSinceReferenceDate: Double(seconds - Int(CBORDateForm.epochOffset)) + fraction)
    }

    /// Parses exactly `count` digits.
    private mutating func number(_ count: Int) -> Int? {
      guard bytes.count - index >= count else { return nil }
      var number = 0
      for _ in 0..<count {
        guard 0x30...0x39 ~= bytes[index] else { return nil }
        number = number * 10 + Int(bytes[index] - 0x30)
        index += 1
      }
      return number
    }

    private mutating func pass(_ character: Unicode.Scalar) -> Bool {
      guard index < bytes.count, bytes[index] == UInt8(ascii: character) else { return false }
      index += 1
      return true
    }

    /// Parses an optional fraction; extra digits are ignored. 0 if missing.
    private mutating func fraction() -> Double? {
      guard pass(".") else { return 0 }
      let start = index
      while index < bytes.count, 0x30...0x39 ~= bytes[index] { index += 1 }
      guard index > start else { return nil }
      return Double("0." + String(decoding: bytes[start..<min(index, start + 40)], as: UTF8.self))
    }

    /// In seconds, positive to the east.
    private mutating func offset() -> Int? {
      if pass("Z") || pass("z") { return 0 }
      let sign = pass("+") ? 1 : pass("-") ? -1 : 0
      guard sign != 0, let hours = number(2), hours < 24, pass(":"), let minutes = number(2), minutes < 60 else {
        return nil
      }
      return sign * (hours * 3_600 + minutes * 60)
    }
  }

  /// Days from 1970-01-01 to a date of the proleptic Gregorian calendar, or `nil` for an invalid date.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int? {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    guard 1...12 ~= month else { return nil }
    let start = monthStarts[month - 1] + (isLeap && month > 2 ? 1 : 0)
    let end = monthStarts[month] + (isLeap && month > 1 ? 1 : 0)
    guard 1...(end - start) ~= day else { return nil }
    // Leap days of earlier years; none before year 0.
    let before = year - 1
    let leapDays = year == 0 ? 0 : before / 4 - before / 100 + before / 400 + 1
    return year * 365 + leapDays + start + day - 1 - 719_528
  }
}

/// The encoding of a `Decimal`: a decimal fraction (tag 4) with the smallest mantissa; NaN is the floating-point NaN.
enum CBORDecimalForm {
  static let exponents = -128...127

  static func write(_ value: Decimal, to writer: inout CBORWriter) {
    guard !value.isNaN, var mantissa = UInt128(value.significand.description) else { return writer.writeDouble(.nan) }
    var exponent = value.exponent
    // Equal values get equal bytes: 1.50 becomes 1.5.
    while mantissa != 0, exponent < exponents.upperBound, mantissa % 10 == 0 {
      mantissa /= 10
      exponent += 1
    }
    writer.writeTag(CBORTag.decimalFraction)
    writer.writeArrayHead(count: 2)
    writer.writeInteger(mantissa == 0 ? 0 : exponent)
    if value.sign == .minus && mantissa != 0 {
      // -n is -1 - (n - 1), and n may have 128 bits.
      writer.writeNegative(mantissa - 1)
    } else {
      writer.writeInteger(mantissa)
    }
  }

  /// Returns `nil` if `Decimal` cannot represent it.
  static func decimal(mantissa: UInt128, isNegative: Bool, exponent: Int) -> Decimal? {
    var mantissa = mantissa
    var exponent = exponent
    if mantissa == 0 { exponent = 0 }
    while exponent > exponents.upperBound {
      let (product, overflow) = mantissa.multipliedReportingOverflow(by: 10)
      if overflow { return nil }
      mantissa = product
      exponent -= 1
    }
    while exponent < exponents.lowerBound {
      guard mantissa % 10 == 0 else { return nil }
      mantissa /= 10
      exponent += 1
    }
    return Decimal(mantissa: mantissa, isNegative: isNegative, exponent: exponent)
  }
}
