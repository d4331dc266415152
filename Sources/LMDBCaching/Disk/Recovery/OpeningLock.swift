#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Lets one process at a time open a cache, by a lock on its directory: whoever opens first verifies, and those that
/// come meanwhile find it open.
struct OpeningLock: ~Copyable {
  private let file: File
  /// Verifying takes seconds for a cache of many gigabytes.
  private static let patience = 60_000
  private static let pause = 2

  /// Waits for the process that is opening the cache now, a minute at most.
  init(directory: String) throws(SystemError) {
    let file = try File(directory, flags: O_RDONLY | O_DIRECTORY)
    var attempts = Self.patience / Self.pause
    while try !file.tryLock() {
      attempts -= 1
      if attempts == 0 { throw SystemError("flock", directory, errno: EBUSY) }
      usleep(UInt32(Self.pause) * 1_000)
    }
    self.file = file
  }

  consuming func unlock() {}

  // Explicitly, since a process that was forked meanwhile would go on holding it.
  deinit { flock(file.descriptor, LOCK_UN) }
}
