import Foundation
import Platform

extension TreeDecoder {
  /// A standard type's value, as in `JSONDecoder`; `nil` for other types.
  func standard<T: Decodable>(_ type: T.Type) throws -> T? {
    switch type {
    case is String.Type: return try scalar(String.self) as? T
    case is Int.Type: return try scalar(Int.self) as? T
    case is Double.Type: return try scalar(Double.self) as? T
    case is Bool.Type: return try scalar(Bool.self) as? T
    case is Data.Type:
      guard let data = Data(base64Encoded: try scalar(String.self)) else { throw corrupted("It is not Base64") }
      return data as? T
    case is URL.Type:
      let text = try scalar(String.self)
      guard let url = URL(string: text) else { throw corrupted("\"\(text)\" is not a URL") }
      return url as? T
    case is Decimal.Type:
      if json == .string("NaN") { return Decimal.nan as? T }
      guard let decimal = json.decimal else { throw mismatch(type) }
      return decimal as? T
    default: return nil
    }
  }
}
