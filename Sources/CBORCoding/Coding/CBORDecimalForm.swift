import Foundation
import FoundationObjects

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
