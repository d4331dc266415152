import LMDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Lets one process at a time open the files of a directory, or make them anew: a lock of the directory itself, which
/// goes with its owner.
final class OpeningLock: Sendable {
  private let file: File
  let directory: FileIdentity

  /// How long one that is at work is waited for: verifying a file of many gigabytes takes seconds.
  private static let patience: Int64 = 60_000_000_000

  /// Makes the directory if it is not there, and waits for others.
  ///
  /// - Parameter timeout: Nanoseconds to wait for one that is suspended, or that nothing is known of.
  /// - Throws: `.lockTimeout`.
  init(directory path: String, timeout: Int64) throws(CacheError) {
    let activity = "Opening the cache in \(path)"
    let start = CacheClock.system.monotonic
    var deadline = start &+ min(timeout, .max / 2)
    while true {
      let file = try calling(activity) { () throws(SystemError) in
        try Directory.create(path)
        return try File(path, flags: O_RDONLY | O_DIRECTORY)
      }
      let identity = try calling(activity) { () throws(SystemError) in try file.identity() }
      while try calling(activity, { () throws(SystemError) in try !file.tryLock() }) {
        let now = CacheClock.system.monotonic
        if now >= deadline {
          let holder = LockHolder.exclusive(device: identity.device, inode: identity.inode)
          guard let holder, !holder.isSuspended, now - start < Self.patience else {
            throw .lockTimeout(path, holder)
          }
          deadline = now + timeout
        }
        usleep(1_000)
      }
      if try calling(activity, { () throws(SystemError) in try file.isStillAtItsPath() }) {
        self.file = file
        directory = identity
        return
      }
    }
  }

  /// Lets the next one in; so does the end of the object.
  func end() {
    let status = flock(file.descriptor, LOCK_UN)
    assert(status == 0, "flock(LOCK_UN) failed")
  }
}

extension CacheError {
  /// Another process holds a lock of the cache for too long.
  static func lockTimeout(_ path: String, _ holder: LockHolder?) -> CacheError {
    CacheError(
      .lockTimeout,
      "Another process holds a lock of the cache in \(path) and does not let go: "
        + (holder.map { "\($0)." }
          ?? "look for a suspended one (state T) among those that use it, and continue it or end it."))
  }
}
