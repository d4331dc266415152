import LMDB
import Platform

/// The shared lock that every process with the cache open holds on one file; a process that can make it exclusive is the
/// only one. (LMDB's own `lock.mdb` must not be touched: closing it drops LMDB's locks.)
///
/// The file holds the state that the processes share (``ProcessRecord``).
final class ProcessLock: Sendable {
  static let name = "processes.lock"
  /// The file's size with the reserve: see ``keepReserve()``.
  private static let reserve = 256 << 10
  private let lock: FileLock
  private let timeout: Int64
  let identity: FileIdentity

  /// - Parameter timeout: Nanoseconds to wait for a process that is the only owner.
  /// - Throws: `ETIMEDOUT` if it does not end.
  init(_ directory: Directory, timeout: Int64) throws(SystemError) {
    while true {
      let lock = FileLock(try directory.create(Self.name, requiresOneName: true))
      guard try lock.lock(.shared, within: timeout) else {
        throw SystemError("flock", lock.file.path, errno: ETIMEDOUT)
      }
      guard try lock.file.isStill(Self.name, in: directory) else { continue }
      identity = try lock.file.identity()
      if try lock.file.status().size == 0 {
        // The magic identifies the directory as a cache, also after a power cut.
        try lock.file.write(ProcessRecord.magicBytes, at: 0)
        try lock.file.synchronize()
        try directory.synchronize()
      }
      Self.keepReserve(of: lock.file)
      self.lock = lock
      self.timeout = timeout
      return
    }
  }

  private init(closed other: ProcessLock) {
    lock = FileLock(File(closed: other.lock.file.path))
    timeout = other.timeout
    identity = other.identity
  }

  /// The same file without its descriptor: every call throws `EBADF`.
  func closed() -> ProcessLock { ProcessLock(closed: self) }

  /// Waits while another process is the only owner: it is discarding files, which takes milliseconds.
  ///
  /// - Throws: `ETIMEDOUT` if that does not end, because the process is suspended for example.
  func share() throws(SystemError) {
    guard try lock.lock(.shared, within: timeout) else { throw SystemError("flock", lock.file.path, errno: ETIMEDOUT) }
  }

  /// Releases the lock before this object's end.
  func unlock() throws(SystemError) { try lock.unlock() }

  /// Makes the lock exclusive if no other process shares it, until ``share()``. A failed attempt drops the shared lock.
  func tryOwn() throws(SystemError) -> Bool { try lock.tryLock(.exclusive) }

  /// Whether no other process has the cache open. Requires the opening lock, so that none opens it.
  func isOnlyProcess() throws(SystemError) -> Bool {
    let isOnly = try lock.tryLock(.exclusive)
    try share()
    return isOnly
  }

  /// Locks one byte of the file against other processes, in the name of this object. Returns `false` if one has it.
  func tryLockByte(_ offset: Int64) throws(SystemError) -> Bool { try lock.file.tryLockByte(offset) }

  /// Whether another process has the byte locked.
  func isByteLocked(_ offset: Int64) -> Bool { lock.file.isByteLocked(offset) }

  func unlockByte(_ offset: Int64) { lock.file.unlockByte(offset) }

  // MARK: The reserve

  /// Keeps blocks for removals on a full disk: LMDB writes new pages before it frees old ones.
  func keepReserve() { Self.keepReserve(of: lock.file) }

  private static func keepReserve(of file: borrowing File) {
    // Best effort: the disk may be full already.
    do throws(SystemError) {
      if try file.status().size < reserve { try file.preallocate(ProcessRecord.size..<reserve) }
    } catch {}
  }

  /// Gives the reserve to the removal that follows.
  func giveReserve() {
    // Without it the removal fails with an error.
    do throws(SystemError) { try lock.file.truncate(to: ProcessRecord.size) } catch {}
  }

  // MARK: Shared state. Requires the opening lock

  /// Returns `nil` if none was written yet.
  func record() throws(SystemError) -> ProcessRecord? { try ProcessRecord(lock.file) }

  func write(_ record: ProcessRecord) throws(SystemError) { try lock.file.write(record.bytes, at: 0) }
}

/// State shared by the processes that have a cache open, stored in their lock file.
struct ProcessRecord: Equatable {
  static let size = 64
  private static let magic: UInt64 = 0x3152_5043_4244_4D4C  // "LMDBCPR1"
  static let magicBytes = magic.littleEndian.bytes

  static func isOurs(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magicBytes) }

  /// Their PID namespace, or 0 if unknown.
  var namespace: UInt64
  /// The data file and lock file that belong together (``StoreOpening/dissolveMismatchedPair(_:)``).
  var files: EnvironmentFiles
  /// The base of their stamps (``StampClock``), which a recreated database keeps.
  var stampBase: UInt64

  /// Whether neither these processes nor this one can see whether the others live.
  var isOfOtherNamespace: Bool {
    let own = ProcessNamespace.current
    return namespace != 0 && own != 0 && namespace != own
  }

  init(namespace: UInt64, files: EnvironmentFiles, stampBase: UInt64) {
    self.namespace = namespace
    self.files = files
    self.stampBase = stampBase
  }

  init?(_ file: borrowing File) throws(SystemError) {
    var bytes = [UInt8](repeating: 0, count: Self.size)
    guard try file.read(&bytes) else { return nil }
    self.init(bytes)
  }

  init?(_ bytes: [UInt8]) {
    let words = bytes.withBytes { bytes in
      stride(from: 0, to: bytes.count - 7, by: 8).map { bytes.load($0, as: UInt64.self) }
    }
    guard words.count == Self.size / 8, words[0] == Self.magic, words[7] == Self.check(bytes) else { return nil }
    namespace = words[1]
    stampBase = words[6]
    let lockFile = FileIdentity(device: words[4], inode: words[5])
    files = EnvironmentFiles(
      data: FileIdentity(device: words[2], inode: words[3]), lockFile: lockFile.inode == 0 ? nil : lockFile)
  }

  var bytes: [UInt8] {
    let words = [
      Self.magic, namespace, files.data.device, files.data.inode, files.lockFile?.device ?? 0,
      files.lockFile?.inode ?? 0, stampBase,
    ]
    let bytes = words.flatMap { $0.littleEndian.bytes }
    return bytes + Self.check(bytes).littleEndian.bytes
  }

  private static func check(_ bytes: [UInt8]) -> UInt64 { bytes.withBytes { $0[..<56].hash(seed: 0) } }
}
