package import Foundation

extension Decimal {
  /// A decimal number, or `nil` if the exponent is out of range.
  package init?(mantissa: UInt128, isNegative: Bool, exponent: Int) {
    guard (-128...127).contains(exponent) else { return nil }
    if let significand = UInt64(exactly: mantissa), mantissa == 0 || (-100...100).contains(exponent) {
      // The common case; text is slower.
      self.init(
        sign: isNegative && mantissa != 0 ? .minus : .plus, exponent: mantissa == 0 ? 0 : exponent,
        significand: Decimal(significand))
    } else {
      // Arithmetic would strip trailing zeros from the mantissa and then overflow the exponent of large values.
      self.init(string: "\(isNegative ? "-" : "")\(mantissa)e\(exponent)")
    }
  }
}
