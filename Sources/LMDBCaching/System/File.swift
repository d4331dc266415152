import LMDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An open file descriptor, closed when its owner goes.
struct File: ~Copyable {
  let descriptor: Int32
  let path: String

  init(_ path: String, flags: Int32, mode: mode_t = 0o600) throws(SystemError) {
    while true {
      let descriptor = open(path, flags | O_CLOEXEC, mode)
      if descriptor >= 0 {
        self.descriptor = descriptor
        self.path = path
        return
      }
      if errno != EINTR { throw SystemError("open", path) }
    }
  }

  deinit {
    ForkedLocks.remove(descriptor)
    close(descriptor)
  }

  /// Tries to become the file's only owner; the lock goes with the descriptor, or with the process.
  borrowing func tryLock() throws(SystemError) -> Bool {
    if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
      ForkedLocks.insert(descriptor)
      return true
    }
    if errno == EWOULDBLOCK { return false }
    throw SystemError("flock", path)
  }

  borrowing func status() throws(SystemError) -> stat {
    var status = stat()
    if fstat(descriptor, &status) != 0 { throw SystemError("fstat", path) }
    return status
  }

  borrowing func identity() throws(SystemError) -> FileIdentity { FileIdentity(try status()) }

  /// Whether `path` still leads to this very file.
  borrowing func isStillAtItsPath() throws(SystemError) -> Bool {
    try identity() == Directory.identity(of: path)
  }

  /// Reserves the blocks of the file's first `size` bytes, so that writing them through a map cannot fail.
  borrowing func preallocate(_ size: Int) throws(SystemError) {
    #if os(Linux)
      let status = FileSizeSignal.blocked { posix_fallocate(descriptor, 0, off_t(size)) }
      if status != 0 { throw SystemError("posix_fallocate", path, errno: status) }
    #else
      var store = fstore_t(
        fst_flags: UInt32(F_ALLOCATEALL), fst_posmode: F_PEOFPOSMODE, fst_offset: 0, fst_length: off_t(size),
        fst_bytesalloc: 0)
      if fcntl(descriptor, F_PREALLOCATE, &store) == -1 { throw SystemError("fcntl(F_PREALLOCATE)", path) }
      if ftruncate(descriptor, off_t(size)) != 0 { throw SystemError("ftruncate", path) }
    #endif
  }

  /// Overwrites what is at `offset`, with one call.
  borrowing func write(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
    let count = pwrite(descriptor, bytes, bytes.count, off_t(offset))
    if count != bytes.count { throw SystemError("pwrite", path, errno: count < 0 ? currentErrno() : ENOSPC) }
  }

  borrowing func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    let signal = FileSizeSignal.block()
    defer { signal.restore() }
    var rest = bytes
    #if os(Linux)
      typealias Write = (Int32, UnsafeRawPointer?, Int) -> Int
      let put: Write = Glibc.write
    #else
      let put = Darwin.write
    #endif
    while !rest.isEmpty {
      let count = put(descriptor, rest.baseAddress!, rest.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemError("write", path)
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }

  borrowing func write(_ bytes: [UInt8]) throws(SystemError) {
    var failure: SystemError?
    bytes.withUnsafeBytes { bytes in
      do throws(SystemError) { try write(bytes) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  borrowing func read(_ bytes: inout [UInt8], at offset: Int = 0) throws(SystemError) -> Bool {
    var result: Result<Bool, SystemError> = .success(true)
    bytes.withUnsafeMutableBytes { bytes in
      do throws(SystemError) { result = .success(try read(bytes, at: offset)) } catch { result = .failure(error) }
    }
    return try result.get()
  }

  /// All of a file whose size is not known beforehand, such as those of /proc.
  borrowing func readToEnd() throws(SystemError) -> [UInt8] {
    var contents: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = pread(descriptor, &part, part.count, off_t(contents.count))
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemError("pread", path)
      }
      if count == 0 { return contents }
      contents += part[..<count]
    }
  }

  /// Fills `bytes` from `offset` on; false when the file ends before.
  borrowing func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int = 0) throws(SystemError) -> Bool {
    var done = 0
    while done < bytes.count {
      let count = pread(descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset + done))
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemError("pread", path)
      }
      if count == 0 { return false }
      done += count
    }
    return true
  }

  borrowing func synchronize() throws(SystemError) {
    if fsync(descriptor) != 0 { throw SystemError("fsync", path) }
  }
}
