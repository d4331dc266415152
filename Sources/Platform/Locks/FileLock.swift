/// An interprocess lock on a file or directory, by flock(2). Released with the object or the process.
///
/// The lock belongs to a descriptor and its copies, so two objects of one process exclude each other as two processes
/// do.
package struct FileLock: ~Copyable, Sendable {
  package enum Mode: Sendable {
    case shared
    case exclusive

    fileprivate var operation: Int32 { self == .shared ? LOCK_SH : LOCK_EX }
  }

  /// The locked file.
  package let file: File

  /// Takes ownership of the file, without locking it.
  package init(_ file: consuming File) { self.file = file }

  // A child process that another thread is starting shares the descriptor until its exec.
  deinit { _ = flock(file.descriptor, LOCK_UN) }

  /// For a lock on a directory, by a separate descriptor.
  package init(_ directory: Directory) throws(SystemError) { self.init(try directory.openItself()) }

  /// Takes the lock or changes its mode. Returns `false` if others hold it.
  ///
  /// Changing the mode is not atomic: flock(2) releases first. After `false` no lock is held.
  package borrowing func tryLock(_ mode: Mode) throws(SystemError) -> Bool {
    while SystemCalls.lock(file.descriptor, mode.operation | LOCK_NB, path: file.path) != 0 {
      if errno == EWOULDBLOCK { return false }
      if errno != EINTR { throw SystemError("flock", file.path) }
    }
    return true
  }

  /// Waits for the lock. Returns `false` on timeout, holding no lock.
  ///
  /// - Parameter limit: Nanoseconds; `nil` for no limit.
  package borrowing func lock(
    _ mode: Mode, within limit: Int64?, _ waiting: Waiting = .system
  ) throws(SystemError) -> Bool {
    if try tryLock(mode) { return true }
    var backoff = Backoff(limit: limit, waiting)
    while backoff.pause() {
      if try tryLock(mode) { return true }
    }
    return false
  }

  package borrowing func unlock() throws(SystemError) {
    while SystemCalls.lock(file.descriptor, LOCK_UN, path: file.path) != 0 {
      if errno != EINTR { throw SystemError("flock", file.path) }
    }
  }

  /// The process with the exclusive lock, for messages; `nil` if none or unknown.
  package borrowing func exclusiveHolder() throws(SystemError) -> LockHolder? {
    LockHolder.exclusive(of: try file.identity())
  }
}
