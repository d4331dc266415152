/// An interprocess lock on a file or directory, by flock(2). Released with the object or the process. Two objects of
/// one process exclude each other as two processes do.
package struct FileLock: ~Copyable, Sendable {
  package enum Mode: Sendable {
    case shared
    case exclusive

    fileprivate var operation: Int32 { self == .shared ? LOCK_SH : LOCK_EX }
  }

  package let file: File

  /// Takes ownership of the file, without locking it.
  package init(_ file: consuming File) { self.file = file }

  // A child process that another thread is starting shares the descriptor until its exec.
  deinit { _ = flock(file.descriptor, LOCK_UN) }

  /// For a lock on a directory, by a separate descriptor.
  package init(_ directory: Directory) throws(SystemError) { self.init(try directory.openItself()) }

  /// Takes the lock. Returns `false` if others hold it. Changing the mode is not atomic: after `false` no lock is held.
  package borrowing func tryLock(_ mode: Mode) throws(SystemError) -> Bool {
    let descriptor = file.descriptor
    let path = file.path
    return try allowing(EWOULDBLOCK) { () throws(SystemError) in
      try call(.flock, path) { flock(descriptor, mode.operation | LOCK_NB) }
    } != nil
  }

  /// Waits for the lock, for at most `limit` nanoseconds. Returns `false` on timeout, holding no lock.
  package borrowing func lock(_ mode: Mode, within limit: Int64?) throws(SystemError) -> Bool {
    if try tryLock(mode) { return true }
    var backoff = Backoff(limit: limit)
    while backoff.pause() {
      if try tryLock(mode) { return true }
    }
    return false
  }

  package borrowing func unlock() throws(SystemError) {
    _ = try call(.flock, file.path) { flock(file.descriptor, LOCK_UN) }
  }

  /// The process with the exclusive lock, for messages; `nil` if none or unknown.
  package borrowing func exclusiveHolder() throws(SystemError) -> LockHolder? { .exclusive(of: try file.identity()) }
}

/// A process that holds a `flock` on a file, for messages to its waiters.
package struct LockHolder: Hashable, Sendable, CustomStringConvertible {
  package let process: Int32
  /// The program's name; `nil` if unknown.
  package let name: String?
  package let isSuspended: Bool

  package var description: String {
    let who = "process \(process)" + (name.map { " (\($0))" } ?? "")
    return isSuspended
      ? "\(who), which is suspended: continue it (kill -CONT \(process)) or end it"
      : "\(who): if it does not go on by itself, end it"
  }

  private init(process: Int32) {
    self.process = process
    isSuspended = Self.isSuspended(process)
    name = Self.lines(of: "comm", of: "\(process)").first.map(String.init)
  }

  /// The holder of the exclusive lock; `nil` if none or unknown. Linux only, from `/proc/locks`.
  package static func exclusive(of file: FileIdentity) -> LockHolder? {
    #if os(Linux)
      return holder(of: file, locks: lines(of: "locks", of: nil)).map { LockHolder(process: $0) }
    #else
      return nil
    #endif
  }

  /// Whether a signal has suspended a process. Always `false` outside Linux.
  package static func isSuspended(_ process: Int32) -> Bool {
    lines(of: "status", of: "\(process)").contains { $0.hasPrefix("State:\tT") }
  }

  #if os(Linux)
    /// Finds the process in the kernel's list of locks.
    static func holder(of file: FileIdentity, locks: [Substring]) -> Int32? {
      let device = dev_t(truncatingIfNeeded: file.device)
      let major = UInt64(Directory.major(device))
      let minor = UInt64(Directory.minor(device))
      var others: Set<Int32> = []
      // proc(5): "1: FLOCK  ADVISORY  WRITE 1234 08:01:131102 0 EOF"; waiters have "->".
      for line in locks {
        let fields = line.split(separator: " ")
        guard fields.count >= 6, fields[1] == "FLOCK", fields[3] == "WRITE", let process = Int32(fields[4]), process > 0
        else { continue }
        let place = fields[5].split(separator: ":")
        guard place.count == 3, UInt64(place[2]) == file.inode else { continue }
        if UInt64(place[0], radix: 16) == major, UInt64(place[1], radix: 16) == minor { return process }
        others.insert(process)
      }
      // Some file systems (btrfs) report another device to stat(2) than in this list. A single candidate must be it.
      return others.count == 1 ? others.first : nil
    }
  #endif

  /// The lines of a file in /proc; empty if it does not exist.
  private static func lines(of name: String, of process: String?) -> [Substring] {
    do throws(SystemError) {
      guard let folder = try Directory(existing: process.map { "/proc/" + $0 } ?? "/proc"),
        let file = try folder.open(name)
      else { return [] }
      return String(decoding: try file.readToEnd(limit: 16 << 20), as: UTF8.self).split(separator: "\n")
    } catch {
      // The process has ended or belongs to another user: the message omits it.
      return []
    }
  }
}
