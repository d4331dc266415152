// What cannot be decoded is a `DecodingError`, to whoever retrieves an object and to code of the stored types, and has the
// garage's word on it in its context.

extension GarageError {
  /// The garage's word on an error that it threw: the error itself, or what is beneath a `DecodingError`. `nil` for an
  /// error of somebody else.
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
  /// Matches what the garage threw, whichever type it has: `catch GarageError.Code.missingReference`.
  public static func ~= (code: GarageError.Code, error: any Error) -> Bool { GarageError(error)?.code == code }
}

extension DecodingError {
  /// A reference to an object that is not there.
  static func missingReference(_ error: GarageError, at path: [any CodingKey]) -> DecodingError {
    .dataCorrupted(Context(codingPath: path, debugDescription: error.message, underlyingError: error))
  }

  /// The error with what the garage says of the object that it is about, unless an object within that has said it.
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

  /// `nil` for a kind of error that is not known here.
  fileprivate var context: Context? {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context),
      .dataCorrupted(let context):
      context
    @unknown default: nil
    }
  }
}
