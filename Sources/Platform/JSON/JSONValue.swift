/// A value of JSON. Numbers are kept as they are written, since no one type of Swift holds them all.
package enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  package var kind: String {
    switch self {
    case .null: "null"
    case .bool: "a boolean"
    case .number: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }

  /// How deeply arrays and objects may be nested, in what is parsed.
  package static let deepest = 512
}
