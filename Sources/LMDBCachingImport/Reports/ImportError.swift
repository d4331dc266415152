public import Foundation
import LMDBCaching

/// Why an import ended before its source did, or did not begin, with the remedy in its message.
///
/// What cannot be taken of a single entry is no error: see ``ImportReport``. Match on ``code``; the message is for
/// people and may change between versions.
public struct ImportError: LocalizedError, Sendable, CustomStringConvertible {
  /// The kind of failure. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// There is nothing at the path.
    public static let sourceNotFound = Code("sourceNotFound")
    /// What is at the path is of another kind than was said.
    public static let foreignSource = Code("foreignSource")
    /// The source is damaged. What could be read of it was taken.
    public static let damagedSource = Code("damagedSource")
    /// The source is encrypted.
    public static let encryptedSource = Code("encryptedSource")
    /// Another program was writing to the source, again and again.
    public static let sourceInUse = Code("sourceInUse")
    /// The operating system refused access to the source.
    public static let permissionDenied = Code("permissionDenied")
    /// The source cannot be read: a device fails, say, or there is no room for a copy of its database.
    public static let unreadableSource = Code("unreadableSource")
    /// An argument is out of its documented range.
    public static let invalidArgument = Code("invalidArgument")
    /// The cache that it was to be stored in failed: see ``ImportError/underlying``.
    public static let cacheFailed = Code("cacheFailed")
  }

  public var code: Code
  /// What happened, to what, and what can be done about it.
  public var message: String
  /// The failure beneath this one, where there is one; with ``Code/cacheFailed`` the `CacheError`.
  public var underlying: (any Error)?
  /// What was done before; `nil`: nothing.
  public internal(set) var report: ImportReport?

  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  init(_ error: CacheError) {
    self.init(.cacheFailed, "The cache failed: \(error.message)", underlying: error)
  }

  public var errorDescription: String? { message }
  public var description: String { "\(code): \(message)" + (underlying.map { " (\($0))" } ?? "") }
}
