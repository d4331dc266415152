package import Foundation

extension Decimal {
  /// A decimal number, or `nil` if it has another exponent than `Decimal` can have.
  package init?(mantissa: UInt128, isNegative: Bool, exponent: Int) {
    guard (-128...127).contains(exponent) else { return nil }
    if let significand = UInt64(exactly: mantissa), mantissa == 0 || (-100...100).contains(exponent) {
      // What most numbers are; text takes longer.
      self.init(
        sign: isNegative && mantissa != 0 ? .minus : .plus, exponent: mantissa == 0 ? 0 : exponent,
        significand: Decimal(significand))
    } else {
      // Arithmetic takes trailing zeros off the mantissa, and then has no exponent for large values.
      self.init(string: "\(isNegative ? "-" : "")\(mantissa)e\(exponent)")
    }
  }
}
