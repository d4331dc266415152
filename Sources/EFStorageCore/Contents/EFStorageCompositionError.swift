public import Foundation

/// A write to one of two composed places failed, or to both. A place without an error has the new content; one with an
/// error has the one before.
public struct EFStorageCompositionError: LocalizedError, Sendable, CustomStringConvertible {
  /// What was not written. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// The first place; the second one was.
    public static let first = Code("first")
    /// The second place; the first one was.
    public static let second = Code("second")
    /// Neither.
    public static let both = Code("both")
  }

  public let code: Code
  public let first: (any Error)?
  public let second: (any Error)?

  /// - Parameters: One of them is not `nil`.
  init(first: (any Error)?, second: (any Error)?) {
    precondition(first != nil || second != nil, "An error without one.")
    code = first == nil ? .second : second == nil ? .first : .both
    self.first = first
    self.second = second
  }

  /// What happened, and what can be done about it.
  public var message: String {
    switch code {
    case .first:
      "The first of two composed storages was not written, and keeps what it had; the second was. Write again: what is "
        + "read is the first one's."
    case .second:
      "The second of two composed storages was not written, and keeps what it had; the first was. Write again, if the "
        + "second one is read alone."
    default: "Neither of two composed storages was written. Write again when they can be."
    }
  }

  /// The failure beneath this one; where there are two, the first place's.
  public var underlying: (any Error)? { first ?? second }

  public var errorDescription: String? { message }
  public var description: String {
    let causes = [first.map { "first: \($0)" }, second.map { "second: \($0)" }].compactMap { $0 }
    return "\(code): \(message) (\(causes.joined(separator: "; ")))"
  }
}
