import LMDB
import Platform

/// Locks the directory itself, so that one process at a time opens or recreates its files. Ends with its owner.
struct OpeningLock: ~Copyable {
  private let lock: FileLock

  /// Maximum wait for a running process: verifying many gigabytes takes seconds.
  private static let longestWait: Int64 = 60_000_000_000

  /// Waits for other processes.
  ///
  /// - Parameter timeout: Nanoseconds to wait for a process that is suspended or unknown.
  /// - Throws: `.lockTimeout`.
  init(_ directory: Directory, timeout: Int64) throws(CacheError) {
    let activity = "Opening the cache in \(directory.path)"
    let start = MonotonicClock.nanoseconds
    let lock = try calling(activity) { () throws(SystemError) in try FileLock(directory) }
    while try !calling(activity, { () throws(SystemError) in try lock.lock(.exclusive, within: timeout) }) {
      let holder = LockHolder.exclusive(of: directory.identity)
      guard let holder, !holder.isSuspended, MonotonicClock.nanoseconds - start < Self.longestWait else {
        throw .lockTimeout(directory.path, holder)
      }
    }
    self.lock = lock
  }

  private init(_ lock: consuming FileLock) { self.lock = lock }

  /// Takes the lock for optional work, or returns `nil` after `limit` nanoseconds.
  static func take(_ directory: Directory, within limit: Int64) throws(SystemError) -> OpeningLock? {
    let lock = try FileLock(directory)
    return try lock.lock(.exclusive, within: limit) ? OpeningLock(lock) : nil
  }

  /// Releases the lock; so does the end of the process.
  consuming func end() {}
}

extension CacheError {
  static func lockTimeout(_ path: String, _ holder: LockHolder?) -> CacheError {
    CacheError(
      .lockTimeout,
      "Another process holds a lock of the cache in \(path) and does not let go: "
        + (holder.map { "\($0)." }
          ?? "look for a suspended one (state T) among those that use it, and continue it or end it."))
  }
}
