#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A data file that is open for reading, by pread(2) alone: what is wrong with it cannot raise a signal.
struct DataFile: ~Copyable {
  private let descriptor: Int32
  /// Bytes, when it was opened.
  let size: Int

  /// nil: there is no such file.
  init?(_ path: String) throws(LMDBError) {
    var opened: Int32
    repeat {
      opened = open(path, O_RDONLY | O_CLOEXEC)
    } while opened < 0 && errno == EINTR
    guard opened >= 0 else {
      let errno = errno
      if errno == ENOENT { return nil }
      throw LMDBError(errno: errno, operation: "open")
    }
    var status = stat()
    guard fstat(opened, &status) == 0 else {
      let errno = errno
      Self.end(opened)
      throw LMDBError(errno: errno, operation: "fstat")
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      Self.end(opened)
      throw LMDBError(
        code: .invalid, operation: "open", message: "\(path) is not a file. Remove it, or choose another directory.")
    }
    descriptor = opened
    size = Int(status.st_size)
  }

  deinit { Self.end(descriptor) }

  private static func end(_ descriptor: Int32) { _ = close(descriptor) }

  /// Has the kernel read the file ahead, where it is small enough to be worth it.
  borrowing func readAhead() {
    #if os(Linux)
      // Advice: nothing depends on it.
      if size <= 256 << 20 { _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_WILLNEED) }
    #endif
  }

  /// Fills `buffer` from `offset` on; false when the file ends before.
  borrowing func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(LMDBError) -> Bool {
    var done = 0
    while done < buffer.count {
      let count = pread(descriptor, buffer.baseAddress! + done, buffer.count - done, off_t(offset + done))
      if count < 0 {
        let errno = errno
        if errno == EINTR { continue }
        throw LMDBError(errno: errno, operation: "pread")
      }
      if count == 0 { return false }
      done += count
    }
    return true
  }
}
