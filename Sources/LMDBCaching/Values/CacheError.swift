public import Foundation
import LMDB
import Platform

/// What went wrong in a cache, with the remedy in its message.
///
/// Match on ``code``; the message is for people and may change between versions.
public struct CacheError: LocalizedError, Sendable, CustomStringConvertible {
  /// The kind of failure. Newer versions may add codes, so keep a `default`.
  public enum Code: Sendable {
    /// The cache, or this handle of it, was closed.
    case closed
    /// The entry holds a value of another type. It is kept.
    case typeMismatch
    /// The value could not be archived. Nothing was written.
    case encodingFailed
    /// The entry could not be unarchived. It is kept.
    case decodingFailed
    /// The entry's checksum does not match its bytes. At opening: the database belongs to another program, or the
    /// cache's own record is missing or damaged.
    case corruptedRecord
    /// The entry was written by a newer version of this package.
    case unsupportedRecord
    /// The directory cannot hold a cache: it cannot be made, holds other files, or a link or a foreign file has the
    /// name of a cache file. Nothing was changed.
    case invalidDirectory
    /// The operating system refused access to the directory or to a file in it.
    case permissionDenied
    /// The directory is on a remote file system, where memory maps and locks are unreliable.
    case remoteFileSystem
    /// The directory is used with another ``Durability``, or was left with ``Durability/fast`` by a system crash.
    case durabilityMismatch
    /// This process has the directory open with another ``CacheConfiguration/disk``, or another clock.
    case configurationMismatch
    /// The directory was written by a newer version of this package.
    case unsupportedVersion
    /// The disk or the quota is full.
    case noSpace
    /// Any other failure of LMDB or of the file system; see ``CacheError/underlying``.
    case storageFailed
    /// The write is visible in this process, but its commit failed so far and is retried, or could not be waited for.
    case notCommitted
    /// The entry was written with a ``ValueTransform`` that the cache does not have. The entry is kept.
    case missingTransform
    /// The entry was written without a ``ValueTransform`` that the cache requires. The entry is kept.
    case untransformed
    /// The database's file is damaged. While open, it is not used any more, and the next opening verifies it. At
    /// opening: it cannot be set aside, because other processes have it open or
    /// ``CacheConfiguration/Disk/recoversFromDamage`` is off.
    case damagedDatabase
    /// Another process is using the cache, this thread is opening it, or another cache of this process has taken the
    /// place of its deleted directory. Try again.
    case busy
    /// The cache was damaged, and recreated when it was opened: see ``CacheRecovery``.
    case rebuilt
    /// Another process holds a lock of the cache for longer than ``CacheConfiguration/Disk/lockTimeout``, because it is
    /// suspended for example.
    case lockTimeout
    /// The cache is open in a process of another PID namespace, such as another container's.
    case processNamespaceMismatch
    /// The directory belongs to another user, or others may write to it: see
    /// ``CacheConfiguration/Disk/allowsOtherUsers``.
    case insecureDirectory
    /// The directory is on a file system that is mounted read-only.
    case readOnlyFileSystem
    /// A load asks for the value that it loads; see ``LMDBCache/value(_:forKey:options:load:)``.
    case recursiveLoad
    /// The closure of a change writes the entry that it changes, or waits for such a write; see
    /// ``LMDBCache/update(_:forKey:expires:cost:_:)``. Either the write or the change was not made.
    case recursiveUpdate
    /// A load took longer than ``LoadOptions/timeLimit``, and there was no value to serve instead.
    case loadTimedOut
    /// Another process's load, for which the caller waited, failed.
    case loadFailed
    /// An argument is out of its documented range.
    case invalidArgument
  }

  public var code: Code

  /// Whether one entry's content is the cause, so that a replacement can be read.
  package var isOfOneEntry: Bool {
    [.typeMismatch, .decodingFailed, .corruptedRecord, .unsupportedRecord, .untransformed].contains(code)
  }

  /// Says what happened and what to do.
  public var message: String
  /// The cause, if any.
  public var underlying: (any Error)?

  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  public var errorDescription: String? { message }
  public var description: String {
    guard let underlying else { return "\(code): \(message)" }
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
    case .corrupted: code = .damagedDatabase
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
func calling<R: ~Copyable, E: Error>(
  _ activity: @autoclosure () -> String, _ body: () throws(E) -> R
) throws(CacheError) -> R {
  do throws(E) { return try body() } catch { throw CacheError(converting: error, during: activity()) }
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
      code = .noSpace
      reason =
        ": the disk or quota is full, or a limit of file sizes (ulimit -f) is reached. Free some space or raise it; the "
        + "cache goes on by itself."
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
