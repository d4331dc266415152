public import Foundation

/// Why an object was not archived, or bytes were not read, with the remedy in its message.
///
/// ``CBORKeyedArchiver`` and ``CBORKeyedUnarchiver`` report it, and ``CBORDiagnostic`` throws it. ``CBOREncoder`` and
/// ``CBORDecoder`` throw `EncodingError` and `DecodingError`, as all coders of `Codable` values do; it is the
/// `underlyingError` of a `DecodingError` for bytes that are no CBOR.
///
/// Match on ``code``; the message is for people and may change between versions.
public struct CBORCodingError: LocalizedError, Sendable, CustomStringConvertible {
  /// The kind of failure. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// An object, or something that it holds, cannot be archived. There is no archive.
    public static let encodingFailed = Code("encodingFailed")
    /// The bytes are no CBOR, not whole, or not the archive that they were taken for.
    public static let malformed = Code("malformed")
    /// Values nest deeper than the limit, or than the stack of the thread holds, or references lead to more than 20,000
    /// levels.
    public static let tooDeep = Code("tooDeep")
    /// The input is longer than the limit.
    public static let tooLarge = Code("tooLarge")
    /// The archive holds a value of another kind than was asked for.
    public static let typeMismatch = Code("typeMismatch")
    /// The archive holds an object of a class that is not among those that were allowed, or that does not conform to
    /// `NSSecureCoding` where that is required.
    public static let classNotAllowed = Code("classNotAllowed")
    /// The archive names a class that is not in this process.
    public static let classUnknown = Code("classUnknown")
    /// An object refers to another one whose `init(coder:)` has not returned yet.
    public static let cycle = Code("cycle")
    /// An object could not be made of what the archive holds: its `init(coder:)` returned `nil`, or reported an error.
    public static let decodingFailed = Code("decodingFailed")
  }

  public var code: Code
  /// What happened, where in the archive, and what can be done about it.
  public var message: String
  /// The failure beneath this one, where there is one.
  public var underlying: (any Error)?

  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  public var errorDescription: String? { message }
  public var description: String { "\(code): \(message)" + (underlying.map { " (\($0))" } ?? "") }
}

extension CBORCodingError {
  init(_ error: CBORError, _ message: String = "") {
    let code: Code =
      switch error.code {
      case .tooDeep: .tooDeep
      case .tooLarge: .tooLarge
      default: .malformed
      }
    self.init(code, message.isEmpty ? "\(error)" : "\(message) \(error)")
  }
}
