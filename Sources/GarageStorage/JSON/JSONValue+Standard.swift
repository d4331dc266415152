import Foundation
import Platform

extension JSONValue {
  /// The JSON of a standard type's value, as `JSONEncoder` writes it. It is `nil` for a type that encodes itself.
  init?<T: Encodable>(standard value: T) {
    switch T.self {
    case is String.Type: self = .string(value as! String)
    case is Int.Type: self = .number(String(value as! Int))
    case is Double.Type: self = JSONValue(value as! Double)
    case is Bool.Type: self = .bool(value as! Bool)
    case is Data.Type: self = .string((value as! Data).base64EncodedString())
    case is URL.Type: self = .string((value as! URL).absoluteString)
    case is Decimal.Type:
      let decimal = value as! Decimal
      self = decimal.isNaN ? .string("NaN") : .number(decimal.description)
    default: return nil
    }
  }
}
