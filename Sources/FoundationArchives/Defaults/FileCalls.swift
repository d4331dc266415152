#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The calls of the C library that ``DefaultsFile`` makes. None follows a link in the last component of a path.
enum FileCalls {
  /// A call that failed.
  struct Failure: Error, CustomStringConvertible {
    let call: String
    let code: Int32

    init(_ call: String) { self.init(call: call, code: errno) }

    init(call: String, code: Int32) {
      self.call = call
      self.code = code
    }

    var isAbsence: Bool { code == ENOENT }
    var description: String { "\(call): \(String(cString: strerror(code)))" }
  }

  /// A descriptor that is closed with its owner. Closing it releases its lock.
  struct Descriptor: ~Copyable {
    let number: Int32

    deinit { close(number) }
  }

  static let reading = O_RDONLY
  static let readingAndWriting = O_RDWR | O_CREAT
  static let writingAnew = O_WRONLY | O_CREAT | O_TRUNC
  /// The code of a file whose bytes are not what they should be.
  static let damaged = EINVAL

  static func open(_ path: String, _ flags: Int32) throws(Failure) -> Descriptor {
    let number = retrying { Self.openFile(path, flags | O_CLOEXEC | O_NOFOLLOW, 0o600) }
    if number < 0 { throw Failure("open \(path)") }
    return Descriptor(number: number)
  }

  /// Returns `false` if another process, or another descriptor of this one, has the lock.
  static func tryLock(_ file: borrowing Descriptor) throws(Failure) -> Bool {
    let number = file.number
    if retrying({ flock(number, LOCK_EX | LOCK_NB) }) == 0 { return true }
    if errno == EWOULDBLOCK { return false }
    throw Failure("flock")
  }

  /// Whether the path still names this file.
  static func isNamed(_ file: borrowing Descriptor, _ path: String) throws(Failure) -> Bool {
    var own = stat()
    var named = stat()
    if fstat(file.number, &own) != 0 { throw Failure("fstat") }
    if lstat(path, &named) != 0 {
      let failure = Failure("lstat \(path)")
      if failure.isAbsence { return false }
      throw failure
    }
    return own.st_dev == named.st_dev && own.st_ino == named.st_ino
  }

  /// The file's bytes from its start.
  static func bytes(of file: borrowing Descriptor) throws(Failure) -> [UInt8] {
    let number = file.number
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let offset = off_t(bytes.count)
      let count = retrying { part.withUnsafeMutableBytes { pread(number, $0.baseAddress, $0.count, offset) } }
      if count < 0 { throw Failure("pread") }
      if count == 0 { return bytes }
      bytes += part[..<count]
    }
  }

  /// Replaces what the file holds, and waits until that is on the disk.
  static func replace(_ file: borrowing Descriptor, with bytes: [UInt8]) throws(Failure) {
    let number = file.number
    if retrying({ ftruncate(number, 0) }) != 0 { throw Failure("ftruncate") }
    var offset = 0
    while offset < bytes.count {
      let count = retrying {
        bytes.withUnsafeBytes { pwrite(number, $0.baseAddress! + offset, $0.count - offset, off_t(offset)) }
      }
      if count < 0 { throw Failure("pwrite") }
      offset += count
    }
    if retrying({ fsync(number) }) != 0 { throw Failure("fsync") }
  }

  static func rename(_ path: String, to newPath: String) throws(Failure) {
    if Self.renameFile(path, newPath) != 0 { throw Failure("rename \(path)") }
  }

  static func remove(_ path: String) throws(Failure) {
    if unlink(path) != 0 { throw Failure("unlink \(path)") }
  }

  /// The path without links; `path` itself if nothing is there.
  static func resolved(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  static func environmentVariable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  static func pause(milliseconds: UInt32) { usleep(milliseconds * 1_000) }

  private static func retrying<Value: SignedInteger>(_ call: () -> Value) -> Value {
    while true {
      let value = call()
      if value >= 0 || errno != EINTR { return value }
    }
  }

  // The functions above hide those of the C library.
  #if canImport(Darwin)
    private static func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
      Darwin.open(path, flags, mode)
    }
    private static func renameFile(_ path: String, _ newPath: String) -> Int32 { Darwin.rename(path, newPath) }
  #elseif canImport(Musl)
    private static func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
      Musl.open(path, flags, mode)
    }
    private static func renameFile(_ path: String, _ newPath: String) -> Int32 { Musl.rename(path, newPath) }
  #else
    private static func openFile(_ path: String, _ flags: Int32, _ mode: mode_t) -> Int32 {
      Glibc.open(path, flags, mode)
    }
    private static func renameFile(_ path: String, _ newPath: String) -> Int32 { Glibc.rename(path, newPath) }
  #endif
}
