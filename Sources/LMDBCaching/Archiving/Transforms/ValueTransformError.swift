public import Foundation

/// A transform could not be undone, or applied: what ``ValueTransform``s throw, and the cache as `underlying`.
///
/// Match on ``code``; the message is for people and may change between versions.
public struct ValueTransformError: LocalizedError, Sendable, CustomStringConvertible {
  /// The kind of failure. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// The transform did not do it, for a reason of its own.
    public static let failed = Code("failed")
    /// The bytes are not what the transform made.
    public static let damaged = Code("damaged")
    /// The encryption key is none for the algorithm.
    public static let unsuitableKey = Code("unsuitableKey")
    /// A transform that every value has to go through left one as it was.
    public static let left = Code("left")
    /// What was restored is longer than a value may be.
    public static let tooLarge = Code("tooLarge")
  }

  public var code: Code
  /// What happened, and what can be done about it.
  public var message: String
  /// The failure beneath this one, where there is one.
  public var underlying: (any Error)?

  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  /// A failure of a transform of your own.
  public init(_ message: String, underlying: (any Error)? = nil) {
    self.init(.failed, message, underlying: underlying)
  }

  public var errorDescription: String? { message }
  public var description: String { "\(code): \(message)" + (underlying.map { " (\($0))" } ?? "") }
}
