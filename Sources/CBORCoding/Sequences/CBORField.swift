package import Foundation

/// A value in a map of a CBOR sequence: a JSON value or bytes.
package enum CBORField: Hashable, Sendable {
  case text(String)
  case bytes(Data)
  case integer(Int128)
  case double(Double)
  case bool(Bool)
  case null
  case list([CBORField])

  /// The value's type, for messages.
  package var kind: String {
    switch self {
    case .text: "text"
    case .bytes: "bytes"
    case .integer: "an integer"
    case .double: "a number"
    case .bool: "true or false"
    case .null: "null"
    case .list: "a list"
    }
  }
}
