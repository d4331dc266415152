public import Foundation
import LMDB
import Platform

/// What went wrong in a cache, with the remedy in its message.
///
/// Match on ``code``; the message is for people and may change between versions.
public struct CacheError: LocalizedError, Sendable, CustomStringConvertible {
  /// The kind of failure. An open set: newer versions may add codes, so keep a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    private init(_ description: String) { self.description = description }

    /// The cache, or this handle of it, was closed.
    public static let closed = Code("closed")
    /// The entry holds a value of another type than the one asked for. The entry is kept.
    public static let typeMismatch = Code("typeMismatch")
    /// The value could not be archived. Nothing was written.
    public static let encodingFailed = Code("encodingFailed")
    /// The entry could not be unarchived. The entry is kept.
    public static let decodingFailed = Code("decodingFailed")
    /// The bytes of the entry are not those that were written: its checksum does not match. At opening: the database is
    /// another program's, or the cache's own record in it is missing or damaged.
    public static let corruptedRecord = Code("corruptedRecord")
    /// The entry was written by a newer version of this package.
    public static let unsupportedRecord = Code("unsupportedRecord")
    /// The directory cannot hold a cache: it is none, or cannot be made, or is not empty and no cache; or a link, a
    /// FIFO, a file with other names or somebody's file is in the place of one of the cache's. Nothing was changed.
    public static let invalidDirectory = Code("invalidDirectory")
    /// The operating system refused access to the directory or to a file in it.
    public static let permissionDenied = Code("permissionDenied")
    /// The directory is on a remote file system, where memory maps and locks cannot be trusted.
    public static let remoteFileSystem = Code("remoteFileSystem")
    /// Another process, another cache of this process, or an earlier run, uses this directory with another
    /// ``Durability``. Also at opening a cache with ``Durability/fast`` that was open when the operating system
    /// stopped, with another one.
    public static let durabilityMismatch = Code("durabilityMismatch")
    /// This process has the directory open with another ``CacheConfiguration/disk``, or another clock.
    public static let configurationMismatch = Code("configurationMismatch")
    /// The directory was written by a newer version of this package.
    public static let unsupportedVersion = Code("unsupportedVersion")
    /// The disk, or the quota, is full, or a file would exceed the limit of file sizes (`ulimit -f`).
    public static let noSpace = Code("noSpace")
    /// Any other failure of LMDB or of the file system; see ``CacheError/underlying``.
    public static let storageFailed = Code("storageFailed")
    /// The write is accepted and visible in this process, but its commit failed so far, and is tried again; or
    /// it was made on the thread that commits, by the end of a value that was evicted, and could not be waited for.
    public static let notCommitted = Code("notCommitted")
    /// The entry was written with a ``ValueTransform`` that the cache does not have. The entry is kept.
    public static let missingTransform = Code("missingTransform")
    /// The entry was written without a ``ValueTransform`` that the cache requires, such as its encryption. The entry is
    /// kept.
    public static let untransformed = Code("untransformed")
    /// The database's file is damaged. While it is open: nothing is read from it or written to it any more, and the
    /// next opening verifies it. At opening: other processes have it open, so that it cannot be set aside, or
    /// ``CacheConfiguration/Disk/recoversFromDamage`` is off.
    public static let damagedDatabase = Code("damagedDatabase")
    /// Another process is at the cache, and was for too long or is not to be disturbed: try again. Also where this very
    /// thread is opening the directory, or where the directory was deleted and another cache of this process has the
    /// one in its place.
    public static let busy = Code("busy")
    /// The cache was damaged, and made anew when it was opened: see ``CacheRecovery``.
    public static let rebuilt = Code("rebuilt")
    /// Another process holds a lock of the cache for longer than ``CacheConfiguration/Disk/lockTimeout``: it is
    /// suspended, say. At opening, of conditional writes beside other processes, and as the reason of
    /// ``CacheHealth/memoryOnly(_:)``.
    public static let lockTimeout = Code("lockTimeout")
    /// At opening: the cache is open in a process of another PID namespace, of another container, say.
    public static let processNamespaceMismatch = Code("processNamespaceMismatch")
    /// The directory belongs to another user, or others may write to it: see
    /// ``CacheConfiguration/Disk/allowsOtherUsers``.
    public static let insecureDirectory = Code("insecureDirectory")
    /// The directory is on a file system that is mounted read-only.
    public static let readOnlyFileSystem = Code("readOnlyFileSystem")
    /// A load asks for the value that it loads; see ``LMDBCache/value(_:forKey:expiresIn:cost:load:)``.
    public static let recursiveLoad = Code("recursiveLoad")
    /// The closure of a change writes the entry that it changes, or waits for what does; see
    /// ``LMDBCache/update(_:forKey:expires:cost:_:)``. That write, or else the change, was not made.
    public static let recursiveUpdate = Code("recursiveUpdate")
    /// A load took longer than ``LoadOptions/timeLimit``, and there was no value to serve instead.
    public static let loadTimedOut = Code("loadTimedOut")
    /// The load of another process failed, which the caller waited for.
    public static let loadFailed = Code("loadFailed")
    /// An argument is out of its documented range.
    public static let invalidArgument = Code("invalidArgument")
  }

  public var code: Code

  /// Whether it is of what one entry holds: another value in its place can be read.
  package var isOfOneEntry: Bool {
    [.typeMismatch, .decodingFailed, .corruptedRecord, .unsupportedRecord, .untransformed].contains(code)
  }

  /// What happened, to what, and what can be done about it.
  public var message: String
  /// The failure beneath this one, where there is one.
  public var underlying: (any Error)?

  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  public var errorDescription: String? { message }
  public var description: String {
    guard let underlying else { return "\(code): \(message)" }
    // What LMDB said is part of the message in most cases.
    if let error = underlying as? LMDBError, message.contains(error.message) {
      return "\(code): \(message) (\(error.origin))"
    }
    return "\(code): \(message) (\(underlying))"
  }
}

extension CacheError: Equatable {
  /// Errors are equal if their codes and messages are. The underlying errors are not compared.
  public static func == (first: CacheError, second: CacheError) -> Bool {
    first.code == second.code && first.message == second.message
  }
}

// The only place that converts errors of lower layers to cache errors.

extension CacheError {
  static let closed = CacheError(.closed, "The cache is closed. Open the directory again to go on using it.")

  init(_ error: LMDBError, during activity: String) {
    let code: Code
    switch error.code {
    case .closed: code = .closed
    case .noSpace: code = .noSpace
    case .permissionDenied: code = .permissionDenied
    case .readOnlyFileSystem: code = .readOnlyFileSystem
    case .lockTimeout: code = .lockTimeout
    case .corrupted, .pageNotFound: code = .damagedDatabase
    case .invalid: code = .corruptedRecord
    case .foreignFile: code = .invalidDirectory
    default: code = .storageFailed
    }
    self.init(code, "\(activity) failed: \(error.message)", underlying: error)
  }
}

extension CacheError {
  /// Whether the disk was full.
  var isOfFullDisk: Bool {
    code == .noSpace || code == .notCommitted && (underlying as? CacheError)?.isOfFullDisk ?? false
  }
}

/// Calls `body`, and converts its errors to cache errors that name the activity.
@inline(__always)
func calling<R: ~Copyable>(_ activity: @autoclosure () -> String, _ body: () throws -> R) throws(CacheError) -> R {
  do { return try body() } catch { throw CacheError(converting: error, during: activity()) }
}

@inline(__always)
func calling<R: ~Copyable>(
  _ activity: @autoclosure () -> String, _ body: () throws(SystemError) -> R
) throws(CacheError) -> R {
  do throws(SystemError) { return try body() } catch { throw CacheError(error, during: activity()) }
}

@inline(__always)
func storing<R: ~Copyable>(
  _ activity: @autoclosure () -> String, _ body: () throws(LMDBError) -> R
) throws(CacheError) -> R {
  do throws(LMDBError) { return try body() } catch { throw CacheError(error, during: activity()) }
}

/// Returns `nil` for an unreadable block (`EIO`): it stays so, and retrying would never end.
@inline(__always)
func ifReadable<R: ~Copyable>(_ body: () throws(SystemError) -> R) throws(SystemError) -> R? {
  do throws(SystemError) {
    return try body()
  } catch {
    if error.errno == EIO { return nil }
    throw error
  }
}

@inline(__always)
func outcome<R, E: Error>(_ body: () throws(E) -> R) -> Result<R, E> {
  do throws(E) { return .success(try body()) } catch { return .failure(error) }
}

extension CacheError {
  init(converting error: any Error, during activity: String) {
    switch error {
    case let error as CacheError: self = error
    case let error as LMDBError: self.init(error, during: activity)
    case let error as SystemError: self.init(error, during: activity)
    default: self.init(.storageFailed, "\(activity) failed.", underlying: error)
    }
  }

  /// The only place that converts `errno` values to cache errors.
  init(_ error: SystemError, during activity: String) {
    let (code, reason): (Code, String)
    switch error.errno {
    case _ where error.finding != nil: (code, reason) = (.invalidDirectory, ": \(error)")
    case ENOSPC, EDQUOT, EFBIG:
      (code, reason) = (.noSpace, ": the disk is full. Free some space; the cache goes on by itself.")
    case EROFS:
      code = .readOnlyFileSystem
      reason = ": the file system is mounted read-only. Mount it for writing, or give a directory elsewhere."
    case ETIMEDOUT:
      code = .lockTimeout
      reason =
        ": another process holds a lock and does not let go. Look for a suspended one (state T) among those that use "
        + "the directory, and continue it or end it."
    case EACCES, EPERM:
      (code, reason) = (.permissionDenied, ": no permission. Give this user read and write access.")
    case EBUSY: (code, reason) = (.busy, ": another process is in the way. Try again.")
    default: (code, reason) = (.storageFailed, " failed.")
    }
    self.init(code, activity + reason, underlying: error)
  }
}
