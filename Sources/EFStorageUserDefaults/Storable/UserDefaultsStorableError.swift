public import Foundation

/// A value that user defaults cannot hold, or do not hold.
///
/// Match on ``code``; the message is for people and may change between versions.
public struct UserDefaultsStorableError: LocalizedError, Sendable, CustomStringConvertible {
  /// The kind of failure. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// A property list cannot hold the value. Nothing was written.
    public static let unstorable = Code("unstorable")
    /// Something is stored that cannot be read as the type. It is kept.
    public static let unreadable = Code("unreadable")
  }

  public let code: Code
  /// What happened, and what can be done about it.
  public let message: String
  /// The failure beneath this one, where there is one.
  public let underlying: (any Error)?

  init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  public var errorDescription: String? { message }
  public var description: String { "\(code): \(message)" + (underlying.map { " (\($0))" } ?? "") }

  static func innerNil(_ type: Any.Type) -> Self {
    Self(
      .unstorable,
      "A property list cannot tell the inner nil of a \(type) from the outer one. Store another type, or remove it.")
  }

  static let keyWithMark = Self(
    .unstorable, "Foundation on Linux drops a U+FEFF at the start of a key when it reads the file. Use another key.")

  init(stored object: Any?, _ type: Any.Type) {
    let object = object.map { "a \(Swift.type(of: $0))" } ?? "something"
    self.init(.unreadable, "What is stored is \(object) that cannot be read as \(type). Remove or replace it.")
  }
}
