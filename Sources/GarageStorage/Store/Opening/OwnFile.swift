import LMDB

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A file or directory that is open, closed when its owner goes. Links are not followed.
struct OwnFile: ~Copyable {
  let path: String
  private let descriptor: Int32

  /// Opens a regular file. Returns `nil` if there is none.
  ///
  /// - Throws: `ELOOP` for a link, `EINVAL` for anything else that is not a regular file.
  static func open(_ path: String, forWriting: Bool) throws(SystemFailure) -> OwnFile? {
    // A pipe in its place would be waited for.
    let flags = (forWriting ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_NOFOLLOW
    guard let descriptor = try descriptor(path, flags) else { return nil }
    let file = OwnFile(path: path, descriptor: descriptor)
    guard try file.status().st_mode & S_IFMT == S_IFREG else { throw SystemFailure("open", path, errno: EINVAL) }
    return file
  }

  /// Makes a file for this user alone. Returns `nil` if something is there already.
  static func make(_ path: String) throws(SystemFailure) -> OwnFile? {
    do throws(SystemFailure) {
      guard let descriptor = try descriptor(path, O_RDWR | O_CREAT | O_EXCL) else {
        throw SystemFailure("open", path, errno: ENOENT)
      }
      return OwnFile(path: path, descriptor: descriptor)
    } catch {
      guard error.errno == EEXIST else { throw error }
      return nil
    }
  }

  /// Opens a directory, which the path may lead to by links.
  static func open(directory path: String) throws(SystemFailure) -> OwnFile {
    guard let descriptor = try descriptor(path, O_RDONLY | O_DIRECTORY) else {
      throw SystemFailure("open", path, errno: ENOENT)
    }
    return OwnFile(path: path, descriptor: descriptor)
  }

  private init(path: String, descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Returns `nil` if there is no such file.
  private static func descriptor(_ path: String, _ flags: Int32) throws(SystemFailure) -> Int32? {
    while true {
      let descriptor = call(path, flags | O_CLOEXEC)
      if descriptor >= 0 { return descriptor }
      switch errno {
      case EINTR: continue
      case ENOENT: return nil
      default: throw SystemFailure("open", path)
      }
    }
  }

  /// `open(2)`, beside the function of this type that has its name.
  private static func call(_ path: String, _ flags: Int32) -> Int32 {
    #if canImport(Darwin)
      Darwin.open(path, flags, 0o600)
    #elseif canImport(Musl)
      Musl.open(path, flags, 0o600)
    #else
      Glibc.open(path, flags, 0o600)
    #endif
  }

  /// Bytes.
  borrowing func size() throws(SystemFailure) -> Int { Int(try status().st_size) }

  /// What tells the file from others, until it is removed.
  borrowing func identity() throws(SystemFailure) -> FileIdentity { FileIdentity(try status()) }

  borrowing func status() throws(SystemFailure) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw SystemFailure("fstat", path) }
    return status
  }

  /// Fills `bytes` from `offset` on. Returns `false` if the file ends before.
  borrowing func read(_ bytes: inout [UInt8], at offset: Int = 0) throws(SystemFailure) -> Bool {
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeMutableBytes { buffer in
        pread(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset + done))
      }
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemFailure("pread", path)
      }
      if count == 0 { return false }
      done += count
    }
    return true
  }

  /// Overwrites the beginning, with one call.
  borrowing func overwrite(_ bytes: [UInt8]) throws(SystemFailure) {
    let count = FileSizeSignal.blocked { pwrite(descriptor, bytes, bytes.count, 0) }
    guard count == bytes.count else {
      throw SystemFailure("pwrite", path, errno: count < 0 ? currentErrno() : ENOSPC)
    }
  }

  borrowing func synchronize() throws(SystemFailure) {
    while fsync(descriptor) != 0 {
      if errno != EINTR { throw SystemFailure("fsync", path) }
    }
  }

  // MARK: - Locks, which go with the file or with the process

  /// Takes the lock for this owner alone. Returns `false` if another one has it.
  borrowing func tryLock() throws(SystemFailure) -> Bool { try tryLock(LOCK_EX) }

  /// Takes the lock together with others. Returns `false` if one has it for itself.
  borrowing func tryShare() throws(SystemFailure) -> Bool { try tryLock(LOCK_SH) }

  borrowing func unlock() {
    let status = flock(descriptor, LOCK_UN)
    assert(status == 0, "flock(LOCK_UN) failed")
  }

  private borrowing func tryLock(_ kind: Int32) throws(SystemFailure) -> Bool {
    while flock(descriptor, kind | LOCK_NB) != 0 {
      if errno == EWOULDBLOCK { return false }
      if errno != EINTR { throw SystemFailure("flock", path) }
    }
    return true
  }
}
