/// Why an item is not a value of the requested type. Callers add the path.
enum CBORValueError: Error {
  case null
  /// Another type: its name with an article, and the expected type if not the requested one.
  case mismatch(String, expected: Any.Type? = nil)
  /// The right type, but an invalid value.
  case corrupted(String)
  /// An unknown form, left to the type's own conformance.
  case otherForm

  func decodingError(_ type: Any.Type, _ path: [any CodingKey]) -> DecodingError {
    switch self {
    case .null:
      .valueNotFound(
        type,
        .init(
          codingPath: path,
          debugDescription: "Cannot get value of type \(type) -- found null value instead. Decode an optional."))
    case .mismatch(let found, let expected):
      .typeMismatch(
        expected ?? type,
        .init(codingPath: path, debugDescription: "Expected to decode \(expected ?? type) but found \(found) instead."))
    case .otherForm:
      CBORValueError.mismatch("another form").decodingError(type, path)
    case .corrupted(let description):
      .dataCorrupted(.init(codingPath: path, debugDescription: description))
    }
  }
}

extension CBORHead {
  var typeDescription: String {
    switch major {
    case .unsigned, .negative: return "an integer"
    case .bytes: return "a byte string"
    case .text: return "a string"
    case .array: return "an array"
    case .map: return "a map"
    case .tag: return argument <= CBORTag.negativeBignum ? "a large integer" : "a tagged item"
    case .simple: break
    }
    if isFloat { return "a floating-point number" }
    if isNil { return "null" }
    return argument == 20 || argument == 21 ? "a boolean" : "a simple value"
  }

  var mismatch: CBORValueError { isNil ? .null : .mismatch(typeDescription) }
}
