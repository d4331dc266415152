// Decoding failures are a `DecodingError` for callers and for the stored types' code, with the garage's error in its
// context.

extension GarageError {
  /// The garage's error: the error itself, or the one underlying a `DecodingError`. `nil` for other errors.
  public init?(_ error: any Error) {
    switch error {
    case let error as GarageError: self = error
    case let error as DecodingError:
      guard let found = error.context?.underlyingError as? GarageError else { return nil }
      self = found
    default: return nil
    }
  }
}

extension GarageError.Code {
  /// Matches the garage's errors whatever their type: `catch GarageError.Code.missingReference`.
  public static func ~= (code: GarageError.Code, error: any Error) -> Bool { GarageError(error)?.code == code }
}

extension DecodingError {
  static func missingReference(_ error: GarageError, at path: [any CodingKey]) -> DecodingError {
    .dataCorrupted(Context(codingPath: path, debugDescription: error.message, underlyingError: error))
  }

  /// Adds the object's label to the error, unless a nested object has added its own.
  func naming(_ label: String) -> DecodingError {
    guard let context, !(context.underlyingError is GarageError) else { return self }
    let named = Context(
      codingPath: context.codingPath, debugDescription: context.debugDescription,
      underlyingError: GarageError.undecodable(label, self))
    return switch self {
    case .typeMismatch(let type, _): .typeMismatch(type, named)
    case .valueNotFound(let type, _): .valueNotFound(type, named)
    case .keyNotFound(let key, _): .keyNotFound(key, named)
    default: .dataCorrupted(named)
    }
  }

  /// `nil` for unknown kinds of errors.
  fileprivate var context: Context? {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      context
    @unknown default: nil
    }
  }
}
