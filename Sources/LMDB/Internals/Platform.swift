import CLMDB

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The few system calls this module makes itself, each with its status turned into a typed error.
enum Platform {
  /// Identifies the calling thread as long as it lives.
  @inline(__always)
  static var currentThread: UInt {
    #if canImport(Glibc)
      pthread_self()
    #else
      UInt(bitPattern: pthread_self())
    #endif
  }

  static let invalidArgument = EINVAL

  static var pageSize: Int {
    Int(sysconf(Int32(_SC_PAGESIZE)))
  }

  /// Nanoseconds of a clock that never goes back.
  static var monotonicNanoseconds: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  static func sleep(nanoseconds: Int) {
    var time = timespec(tv_sec: 0, tv_nsec: nanoseconds)
    nanosleep(&time, nil)
  }

  static func yield() {
    sched_yield()
  }

  /// `realpath(3)`.
  static func canonicalPath(_ path: String) throws(LMDBError) -> String {
    guard let resolved = realpath(path, nil) else {
      throw LMDBError(errno: errno, operation: "realpath")
    }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// The file's device and inode, or `nil` when there is no such file.
  static func identity(ofFileAt path: String) throws(LMDBError) -> FileIdentity? {
    var status = stat()
    if stat(path, &status) == 0 {
      return FileIdentity(status)
    }
    let errno = errno
    guard errno == ENOENT || errno == ENOTDIR else {
      throw LMDBError(errno: errno, operation: "stat")
    }
    return nil
  }

  /// `nil`: there is no such file.
  static func openFile(_ path: String, forWriting: Bool) throws(LMDBError) -> Int32? {
    let descriptor = open(path, (forWriting ? O_RDWR : O_RDONLY) | O_CLOEXEC)
    if descriptor >= 0 { return descriptor }
    let errno = errno
    guard errno == ENOENT else { throw LMDBError(errno: errno, operation: "open") }
    return nil
  }

  static func close(_ descriptor: Int32) {
    #if canImport(Darwin)
      _ = Darwin.close(descriptor)
    #elseif canImport(Musl)
      _ = Musl.close(descriptor)
    #else
      _ = Glibc.close(descriptor)
    #endif
  }

  /// The size of the file at a path, or `nil` when there is no such file.
  static func size(ofFileAt path: String) throws(LMDBError) -> Int? {
    var status = stat()
    if stat(path, &status) == 0 { return Int(status.st_size) }
    let errno = errno
    guard errno == ENOENT || errno == ENOTDIR else { throw LMDBError(errno: errno, operation: "stat") }
    return nil
  }

  static func identity(ofDescriptor descriptor: Int32) throws(LMDBError) -> FileIdentity {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw LMDBError(errno: errno, operation: "fstat")
    }
    return FileIdentity(status)
  }

  /// Makes the lock file with all its blocks, where the file system can: LMDB makes it with a hole, and a process that
  /// writes into a hole of a mapped file on a full disk is ended by SIGBUS.
  ///
  /// No environment of this process may have the file open: closing it drops LMDB's locks.
  static func reserveLockFile(at path: String, _ options: Environment.Options) throws(LMDBError) {
    #if os(Linux)
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, mode_t(options.fileMode))
      // Whatever is wrong with the file, LMDB meets it too.
      guard descriptor >= 0 else {
        if errno == ENOSPC || errno == EDQUOT { throw LMDBError(errno: errno, operation: "open") }
        return
      }
      defer { close(descriptor) }
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw LMDBError(errno: errno, operation: "fstat") }
      let size = max(Int(status.st_size), lockFileSize(options))
      if Int(status.st_blocks) * 512 >= size { return }
      let failure = FileSizeSignal.blocked { clmdb_reserve(descriptor, off_t(size)) }
      guard failure == 0 else { throw LMDBError(errno: failure, operation: "fallocate") }
    #endif
  }

  /// What LMDB makes it: two cache lines of state, and one for each reader.
  private static func lockFileSize(_ options: Environment.Options) -> Int { 128 + Int(options.maxReaders) * 64 }

  /// Keeps programs that this process starts from having the descriptor.
  static func closeOnExec(_ descriptor: Int32) throws(LMDBError) {
    let flags = fcntl(descriptor, F_GETFD)
    guard flags >= 0, fcntl(descriptor, F_SETFD, flags | FD_CLOEXEC) == 0 else {
      throw LMDBError(errno: errno, operation: "fcntl(F_SETFD)")
    }
  }

  /// Maps the beginning of a file, shared and read-only.
  static func map(_ descriptor: Int32, length: Int) throws(LMDBError) -> UnsafeMutableRawPointer {
    guard let address = mmap(nil, length, PROT_READ, MAP_SHARED, descriptor, 0), address != MAP_FAILED else {
      throw LMDBError(errno: errno, operation: "mmap")
    }
    return address
  }

  /// The same in place of what is mapped at an address.
  static func map(_ descriptor: Int32, length: Int, over address: UnsafeMutableRawPointer) throws(LMDBError) {
    guard mmap(address, length, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor, 0) == address else {
      throw LMDBError(errno: errno, operation: "mmap")
    }
  }

  static func unmap(_ address: UnsafeMutableRawPointer, length: Int) {
    let status = munmap(address, length)
    precondition(status == 0, "munmap of a mapping of our own failed")
  }
}
