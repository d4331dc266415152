#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Every process that has a cache open holds a shared lock on one file in its directory; whoever can make it
/// exclusive is the only one. (LMDB's own `lock.mdb` must not be touched: closing it drops LMDB's locks.)
final class ProcessLock: Sendable {
  static let name = "processes.lock"
  private let file: File

  init(directory: String) throws(SystemError) {
    file = try File(directory + "/" + Self.name, flags: O_RDWR | O_CREAT)
    try share()
  }

  /// Waits while another process is the only owner: it is discarding files, which takes milliseconds.
  func share() throws(SystemError) {
    while flock(file.descriptor, LOCK_SH) != 0 {
      if errno != EINTR { throw SystemError("flock", file.path) }
    }
    ForkedLocks.insert(file.descriptor)
  }

  /// Leaves the directory to others before this object goes.
  func unlock() throws(SystemError) {
    if flock(file.descriptor, LOCK_UN) != 0 { throw SystemError("flock", file.path) }
  }

  /// Makes this process the only one, if it is; ``share()`` ends that.
  func tryOwn() throws(SystemError) -> Bool { try file.tryLock() }
}
