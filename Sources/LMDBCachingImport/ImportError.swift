public import Foundation
import LMDBCaching
import Platform

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

  init(_ error: CacheError) { self.init(.cacheFailed, "The cache failed: \(error.message)", underlying: error) }

  public var errorDescription: String? { message }
  public var description: String { "\(code): \(message)" + (underlying.map { " (\($0))" } ?? "") }
}

extension ImportError {
  /// The error for a system error on the source.
  init(_ error: SystemError, of path: String) {
    if error.finding != nil {
      self.init(.foreignSource, "\(path) cannot be imported: \(error)", underlying: error)
      return
    }
    switch error.errno {
    case ENOENT: self.init(.sourceNotFound, "There is nothing at \(path).", underlying: error)
    case ENOTDIR:
      self.init(.foreignSource, "\(path) is no directory, or is below something that is none.", underlying: error)
    case EACCES, EPERM:
      self.init(
        .permissionDenied, "\(path) cannot be read: no permission. Give this user read access.", underlying: error)
    default: self.init(.unreadableSource, "\(path) cannot be read.", underlying: error)
    }
  }
}

func reading<R: ~Copyable>(
  _ path: @autoclosure () -> String, _ body: () throws(SystemError) -> R
) throws(ImportError) -> R {
  do throws(SystemError) { return try body() } catch { throw ImportError(error, of: path()) }
}

/// What was not taken, and why.
public struct ImportRefusal: Sendable, Equatable {
  /// Why something is not taken. An open set: newer versions may add reasons, so keep a `default`.
  public struct Reason: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// The key is no text, or longer than a key of the cache can be.
    public static let unreadableKey = Reason("unreadableKey")
    /// The source has no value under the key: the file that it should be in is gone, say.
    public static let missingValue = Reason("missingValue")
    /// What should name a file of the source names one elsewhere. It was not opened.
    public static let foreignName = Reason("foreignName")
    /// A link, a FIFO, a device, or a directory where there should be a file. It was not opened. Where an entry names
    /// it as the file of its value, the entry is ``unreadable``.
    public static let notAFile = Reason("notAFile")
    /// The value is not as it was written: its archive is damaged, or its file cut off.
    public static let damagedValue = Reason("damagedValue")
    /// The value is not of the type that was given for it.
    public static let wrongType = Reason("wrongType")
    /// The value is longer than ``ImportOptions/maximumValueSize``.
    public static let tooLarge = Reason("tooLarge")
    /// The operating system, or the database, failed to read it; what is in the place of its file is none; or it is in
    /// a directory that is too deep.
    public static let unreadable = Reason("unreadable")
    /// The entry was taken, and YYCache's extended data of it was not: the cache has no place for it.
    public static let extendedData = Reason("extendedData")
    /// What was written last to the source is damaged: the state before it was taken.
    public static let olderState = Reason("olderState")
    /// The source has the journal of a transaction that did not end. The journal was ignored, so entries of that
    /// transaction may have been taken.
    public static let uncommittedChanges = Reason("uncommittedChanges")
  }

  /// The key in the source, as far as it can be shown; empty: of no single entry.
  public let key: String
  public let reason: Reason
  /// For people.
  public let message: String

  init(key: String, _ failure: EntryFailure) {
    self.key = key
    reason = failure.reason
    message = failure.message
  }
}

/// Why something of one entry is not taken.
struct EntryFailure: Error {
  let reason: ImportRefusal.Reason
  let message: String

  init(_ reason: ImportRefusal.Reason, _ message: String) {
    self.reason = reason
    self.message = message
  }
}
