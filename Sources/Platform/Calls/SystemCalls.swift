import CPlatform

// Imports the platform's C library for this module and its importers.

#if canImport(Glibc)
  @_exported public import Glibc
#elseif canImport(Musl)
  @_exported public import Musl
#else
  @_exported public import Darwin
#endif

/// The raw calls that change or read files. Tests can make them fail; statuses are not judged here.
///
/// Each passes the seam of ``FaultInjection`` with its path. The results are those of the C functions: -1 and `errno`
/// on failure.
enum SystemCalls {
  /// Sets `errno` if a test injects a failure. One relaxed load when no test is on.
  @inline(__always)
  private static func fails(_ call: FaultInjection.Call, _ path: @autoclosure () -> String) -> Bool {
    guard FaultInjection.isOn, let status = FaultInjection.status(for: call, path: path()) else { return false }
    errno = status
    return true
  }

  static func open(_ directory: Int32, _ name: String, _ flags: Int32, _ mode: mode_t, path: String) -> Int32 {
    if fails(.openat, path) { return -1 }
    return openat(directory, name, flags, mode)
  }

  static func makeDirectory(_ directory: Int32, _ name: String, path: String) -> Int32 {
    if fails(.mkdirat, path) { return -1 }
    return mkdirat(directory, name, 0o700)
  }

  static func remove(_ directory: Int32, _ name: UnsafePointer<CChar>, flags: Int32, path: String) -> Int32 {
    if fails(.unlinkat, path) { return -1 }
    return unlinkat(directory, name, flags)
  }

  static func rename(_ from: Int32, _ name: String, _ to: Int32, _ newName: String, path: String) -> Int32 {
    if fails(.renameat, path) { return -1 }
    return renameat(from, name, to, newName)
  }

  static func exchange(_ directory: Int32, _ first: String, _ second: String, path: String) -> Int32 {
    if fails(.renameat, path) { return -1 }
    return cplatform_exchange(directory, first, second)
  }

  static func status(_ descriptor: Int32, _ result: inout stat, path: String) -> Int32 {
    if fails(.fstat, path) { return -1 }
    return fstat(descriptor, &result)
  }

  static func status(_ directory: Int32, _ name: UnsafePointer<CChar>, _ result: inout stat, path: String) -> Int32 {
    if fails(.fstatat, path) { return -1 }
    return fstatat(directory, name, &result, AT_SYMLINK_NOFOLLOW)
  }

  static func read(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer, _ offset: Int, path: String) -> Int {
    if fails(.pread, path) { return -1 }
    return pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
  }

  /// - Parameter offset: `nil` for the descriptor's position.
  static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, _ offset: Int?, path: String) -> Int {
    if fails(offset == nil ? .write : .pwrite, path) { return -1 }
    if let offset { return pwrite(descriptor, bytes.baseAddress, bytes.count, off_t(offset)) }
    return cplatform_write(descriptor, bytes.baseAddress, bytes.count)
  }

  /// Writes two adjacent buffers.
  static func write(
    _ descriptor: Int32, _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, _ offset: Int, path: String
  ) -> Int {
    if fails(.pwrite, path) { return -1 }
    return cplatform_write_two(
      descriptor, first.baseAddress, first.count, second.baseAddress, second.count, Int64(offset))
  }

  static func truncate(_ descriptor: Int32, _ size: Int, path: String) -> Int32 {
    if fails(.ftruncate, path) { return -1 }
    return ftruncate(descriptor, off_t(size))
  }

  /// Allocates blocks for a range: 0 or the error number.
  static func allocate(_ descriptor: Int32, _ part: Range<Int>, path: String) -> Int32 {
    if fails(.fallocate, path) { return errno }
    return cplatform_allocate(descriptor, Int64(part.lowerBound), Int64(part.count))
  }

  /// Allocates blocks at the file's beginning if the file system can reserve them: 0 or the error number.
  static func reserve(_ descriptor: Int32, _ size: Int, path: String) -> Int32 {
    if fails(.fallocate, path) { return errno }
    return cplatform_reserve(descriptor, Int64(size))
  }

  /// Returns 0 or the error number.
  static func punchHole(_ descriptor: Int32, _ offset: Int, _ size: Int, path: String) -> Int32 {
    if fails(.punchHole, path) { return errno }
    return cplatform_punch(descriptor, Int64(offset), Int64(size))
  }

  static func synchronize(_ descriptor: Int32, path: String) -> Int32 {
    if fails(.fsync, path) { return -1 }
    return cplatform_fsync(descriptor)
  }

  static func synchronizeVolume(_ descriptor: Int32, path: String) -> Int32 {
    if fails(.syncfs, path) { return -1 }
    return cplatform_syncfs(descriptor)
  }

  static func lock(_ descriptor: Int32, _ operation: Int32, path: String) -> Int32 {
    if fails(.flock, path) { return -1 }
    return flock(descriptor, operation)
  }

  static func map(_ length: Int, _ protection: Int32, _ descriptor: Int32, path: String) -> UnsafeMutableRawPointer? {
    if fails(.mmap, path) { return nil }
    let address = mmap(nil, length, protection, MAP_SHARED, descriptor, 0)
    return address == MAP_FAILED ? nil : address
  }
}
