package import Foundation

extension Decimal {
  /// A decimal number, or `nil` if it has another exponent than `Decimal` can have.
  package init?(mantissa: UInt128, isNegative: Bool, exponent: Int) {
    guard (-128...127).contains(exponent) else { return nil }
    let high = Decimal(UInt64(truncatingIfNeeded: mantissa >> 64))
    let significand = high * (Decimal(UInt64.max) + 1) + Decimal(UInt64(truncatingIfNeeded: mantissa))
    self.init(sign: isNegative ? .minus : .plus, exponent: exponent, significand: significand)
  }
}
