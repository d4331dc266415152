/// Why an item is not a value of the type that was asked for. The path is added by those who know it.
enum CBORValueError: Error {
  /// It is `null` or `undefined`.
  case null
  /// It is of another type; what it is, with an article, and what was expected, if not the type asked for.
  case mismatch(String, expected: Any.Type? = nil)
  /// It is of the right type, but has no such value.
  case corrupted(String)
  /// It is not of the form that the decoder knows; the type is to be asked.
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
  /// What the item is, for a message.
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

  /// The error of an item that is not what was expected.
  var mismatch: CBORValueError { isNil ? .null : .mismatch(typeDescription) }
}
