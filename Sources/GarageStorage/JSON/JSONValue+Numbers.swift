import Foundation
import Platform

extension JSONValue {
  /// A number that is not finite is a string, since JSON has no words for it.
  init(_ value: some BinaryFloatingPoint & LosslessStringConvertible) {
    if value.isFinite {
      self = .number(String(value))
    } else {
      self = .string(value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity")
    }
  }

  /// The integer, exactly. Returns `nil` if it is not one, or out of the type's range.
  func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
    guard case .number(let text) = self else { return nil }
    if let integer = Integer(text) { return integer }
    // As other writers may put it: 1.0, 1e3.
    return Double(text).flatMap { Integer(exactly: $0) }
  }

  /// The nearest number of the type. Returns `nil` if it is not one, or beyond the type's range.
  func floatingPoint<Number: BinaryFloatingPoint & LosslessStringConvertible>(_ type: Number.Type) -> Number? {
    switch self {
    case .number(let text): Number(text).flatMap { $0.isFinite ? $0 : nil }
    case .string("Infinity"): .infinity
    case .string("-Infinity"): -.infinity
    case .string("NaN"): .nan
    default: nil
    }
  }

  var decimal: Decimal? {
    guard case .number(let text) = self else { return nil }
    return Decimal(string: text, locale: Locale(identifier: "en_US_POSIX"))
  }
}
