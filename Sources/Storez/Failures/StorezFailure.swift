public import Foundation

/// A value that could not be read or written.
public struct StorezFailure: LocalizedError, Sendable, CustomStringConvertible {
  /// The kind of failure. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// The value cannot be turned into what the store takes. What was stored is unchanged.
    public static let encoding = Code("encoding")
    /// Something is stored that cannot be read as the key's type. It is kept.
    public static let decoding = Code("decoding")
    /// The store could not read, write or remove. What was stored is unchanged, unless it was damaged: ``underlying``
    /// tells.
    public static let storage = Code("storage")
  }

  public var code: Code
  /// The key's name; empty where all keys are concerned.
  public var key: String
  /// What happened, and what can be done about it.
  public var message: String
  /// The failure beneath this one, where there is one.
  public var underlying: (any Error)?

  public init(_ code: Code, key: String, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.key = key
    self.message = message
    self.underlying = underlying
  }

  public var errorDescription: String? { message }
  public var description: String { "\(code): \(message)" + (underlying.map { " (\($0))" } ?? "") }
}
