import LMDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Every process that has a cache open holds a shared lock on one file in its directory; whoever can make it
/// exclusive is the only one. (LMDB's own `lock.mdb` must not be touched: closing it drops LMDB's locks.)
///
/// The file says what the processes have in common: see ``ProcessRecord``.
final class ProcessLock: Sendable {
  static let name = "processes.lock"
  private let file: File
  private let timeout: Int64
  let identity: FileIdentity

  /// - Parameter timeout: Nanoseconds to wait for a process that is the only owner.
  init(directory: String, timeout: Int64) throws(SystemError) {
    while true {
      let file = try File(directory + "/" + Self.name, flags: O_RDWR | O_CREAT)
      try Self.share(file, timeout)
      guard try file.isStillAtItsPath() else { continue }
      identity = try file.identity()
      self.file = file
      self.timeout = timeout
      return
    }
  }

  /// Waits while another process is the only owner: it is discarding files, which takes milliseconds.
  ///
  /// - Throws: `ETIMEDOUT` if it does not end, being suspended, say.
  func share() throws(SystemError) { try Self.share(file, timeout) }

  private static func share(_ file: borrowing File, _ timeout: Int64) throws(SystemError) {
    let deadline = CacheClock.system.monotonic &+ min(timeout, .max / 2)
    while flock(file.descriptor, LOCK_SH | LOCK_NB) != 0 {
      guard errno == EINTR || errno == EWOULDBLOCK else { throw SystemError("flock", file.path) }
      if CacheClock.system.monotonic > deadline { throw SystemError("flock", file.path, errno: ETIMEDOUT) }
      usleep(500)
    }
    ForkedLocks.insert(file.descriptor)
  }

  /// Leaves the directory to others before this object goes.
  func unlock() throws(SystemError) {
    if flock(file.descriptor, LOCK_UN) != 0 { throw SystemError("flock", file.path) }
  }

  /// Makes this process the only one, if it is; ``share()`` ends that.
  func tryOwn() throws(SystemError) -> Bool { try file.tryLock() }

  /// Whether no other process has the cache open. With the opening lock held, so that none comes meanwhile.
  func isOnlyProcess() throws(SystemError) -> Bool {
    let isOnly = try file.tryLock()
    try share()
    return isOnly
  }

  // MARK: What the processes have in common. With the opening lock held.

  /// nil: nobody has said yet.
  func record() throws(SystemError) -> ProcessRecord? {
    var bytes = [UInt8](repeating: 0, count: ProcessRecord.size)
    return try file.read(&bytes) ? ProcessRecord(bytes) : nil
  }

  func write(_ record: ProcessRecord) throws(SystemError) {
    try file.write(record.bytes, at: 0)
  }
}
