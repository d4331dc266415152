/// A lock of processes on a file or directory, by flock(2). It goes with the object, or with the process.
///
/// The lock belongs to a descriptor, and so to every copy of that: two objects of one process exclude each other as two
/// processes do.
package struct FileLock: ~Copyable, Sendable {
  package enum Mode: Sendable {
    /// With others that share it.
    case shared
    case exclusive

    fileprivate var operation: Int32 { self == .shared ? LOCK_SH : LOCK_EX }
  }

  /// The file that is locked, for what is read and written in it.
  package let file: File

  /// Takes the file over; it is not locked yet.
  package init(_ file: consuming File) { self.file = file }

  // A program that another thread is starting has a copy of the descriptor until its exec.
  deinit { _ = flock(file.descriptor, LOCK_UN) }

  /// For a lock on a directory, which gets a descriptor of its own for it.
  package init(_ directory: Directory) throws(SystemError) { self.init(try directory.openItself()) }

  /// Takes the lock, or changes how it is held. Returns `false` if others are in the way.
  ///
  /// To change it is not one step: flock(2) lets go first. After `false` nothing is held, whatever was before.
  package borrowing func tryLock(_ mode: Mode) throws(SystemError) -> Bool {
    while SystemCalls.lock(file.descriptor, mode.operation | LOCK_NB, path: file.path) != 0 {
      if errno == EWOULDBLOCK { return false }
      if errno != EINTR { throw SystemError("flock", file.path) }
    }
    return true
  }

  /// Waits for the lock. Returns `false` if the time is over: then nothing is held.
  ///
  /// - Parameter limit: Nanoseconds; `nil` for as long as it takes.
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

  /// Lets others have it.
  package borrowing func unlock() throws(SystemError) {
    while SystemCalls.lock(file.descriptor, LOCK_UN, path: file.path) != 0 {
      if errno != EINTR { throw SystemError("flock", file.path) }
    }
  }

  /// The process that holds the file exclusively, for a message; `nil` if none, or it cannot be known.
  package borrowing func exclusiveHolder() throws(SystemError) -> LockHolder? {
    LockHolder.exclusive(of: try file.identity())
  }
}
