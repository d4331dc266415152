import Foundation

/// Why a value cannot be converted; becomes a ``StorezFailure``.
struct ConversionError: LocalizedError, CustomStringConvertible {
  let description: String
  var errorDescription: String? { description }

  init(_ description: String) { self.description = description }

  static func innerNil(_ type: Any.Type) -> ConversionError {
    ConversionError("The inner nil of a \(type) cannot be told from the outer one. Use another type, or set nil.")
  }

  static func notEncoded(_ type: Any.Type, _ function: String) -> ConversionError {
    ConversionError("\(type).\(function) is nil; return what is to be stored.")
  }

  static func notDecoded(_ type: Any.Type, _ stored: Any) -> ConversionError {
    ConversionError("It is a \(Swift.type(of: stored)), of which \(type) cannot be made.")
  }
}
