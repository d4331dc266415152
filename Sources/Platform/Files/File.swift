import CPlatform

/// An open file, closed when its owner goes. ``Directory`` opens it.
package struct File: ~Copyable, Sendable {
  /// What the file is opened for.
  package enum Access: Sendable {
    case reading
    /// Reading and writing.
    case writing

    var flags: Int32 { self == .reading ? O_RDONLY : O_RDWR }
  }

  /// What becomes of a file that is there, and of one that is not.
  package enum Creation: Sendable {
    /// It is taken as it is.
    case ifMissing
    /// It is an error that it is there.
    case exclusively
    /// It is emptied.
    case emptying
  }

  /// For calls that this type does not make. Never 0, 1 or 2.
  package let descriptor: Int32
  /// For messages: the path that it was opened by.
  package let path: String

  /// Takes an open descriptor over.
  init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  /// A closed file: every call throws `EBADF`.
  package init(closed path: String) { self.init(descriptor: -1, path: path) }

  deinit { if descriptor >= 0 { Descriptors.close(descriptor) } }

  package borrowing func status() throws(SystemError) -> FileStatus {
    FileStatus(try Descriptors.status(descriptor, path: path))
  }

  package borrowing func identity() throws(SystemError) -> FileIdentity { try status().identity }

  /// The value of an extended attribute, of at most `limit` bytes; `nil` if there is none. On Linux it is one of the user's,
  /// whose names begin with `user.`, which is not given here.
  package borrowing func attribute(_ name: String, limit: Int = 64) throws(SystemError) -> [UInt8]? {
    #if os(Linux)
      let name = "user." + name
    #endif
    var bytes = [UInt8](repeating: 0, count: limit)
    let length = cplatform_attribute(descriptor, name, &bytes, limit)
    if length < 0 { throw SystemError("fgetxattr", path) }
    return length == 0 ? nil : Array(bytes[..<length])
  }

  /// Whether a name in a directory still leads to this very file.
  package borrowing func isStill(_ name: String, in directory: Directory) throws(SystemError) -> Bool {
    try directory.identity(of: name) == identity()
  }

  /// Whether another process has a lock by fcntl(2) on any part of it; those of this process do not count.
  package borrowing func isLockedElsewhere() throws(SystemError) -> Bool {
    let status = cplatform_is_locked_elsewhere(descriptor)
    if status < 0 { throw SystemError("fcntl(F_GETLK)", path) }
    return status == 1
  }

  /// Locks one byte, in the name of this open file, against those who have opened it otherwise; it may be behind the
  /// file's end. Returns `false` if one of them has it. Where the system has no such locks, `true`.
  package borrowing func tryLockByte(_ offset: Int64) throws(SystemError) -> Bool {
    let status = cplatform_byte_lock(descriptor, offset, 1)
    if status < 0 { throw SystemError("fcntl(F_OFD_SETLK)", path) }
    return status == 0
  }

  /// Whether one of them has the byte locked.
  package borrowing func isByteLocked(_ offset: Int64) -> Bool { cplatform_byte_lock(descriptor, offset, -1) == 1 }

  package borrowing func unlockByte(_ offset: Int64) { _ = cplatform_byte_lock(descriptor, offset, 0) }

  // MARK: - Size

  /// Has a file that is still empty keep its blocks when it is written again, on a file system that would choose others
  /// (Btrfs): there reserved blocks are good for the first time only.
  package borrowing func disableCopyOnWrite() { cplatform_disable_copy_on_write(descriptor) }

  /// Makes the file at least `size` bytes long, all of them with blocks, so that writing them through a map cannot fail.
  /// Only for a file that no other process writes at that moment.
  package borrowing func preallocate(_ size: Int) throws(SystemError) { try preallocate(0..<size) }

  /// The same with a part of the file, which nobody else writes at that moment.
  package borrowing func preallocate(_ part: Range<Int>) throws(SystemError) {
    let status = SystemCalls.allocate(descriptor, part, path: path)
    if status != 0 { throw SystemError("posix_fallocate", path, errno: status) }
  }

  /// The same from the beginning on where the file system can do it; nothing otherwise. Others may be writing the file.
  package borrowing func reserve(_ size: Int) throws(SystemError) {
    let status = SystemCalls.reserve(descriptor, size, path: path)
    if status != 0 { throw SystemError("fallocate", path, errno: status) }
  }

  /// Gives the blocks of a part of the file back, which then reads as zeros. The file keeps its length.
  ///
  /// - Throws: with `EOPNOTSUPP` where the file system cannot.
  package borrowing func punchHole(at offset: Int, size: Int) throws(SystemError) {
    let status = SystemCalls.punchHole(descriptor, offset, size, path: path)
    if status != 0 { throw SystemError("fallocate", path, errno: status) }
  }

  package borrowing func truncate(to size: Int) throws(SystemError) {
    while SystemCalls.truncate(descriptor, size, path: path) != 0 {
      if errno != EINTR { throw SystemError("ftruncate", path) }
    }
  }

  /// Has the system begin to write a part to the device, where it can be told so. Nothing is durable by that.
  package borrowing func startWriting(_ part: Range<Int>) {
    cplatform_start_writing(descriptor, Int64(part.lowerBound), Int64(part.count))
  }

  /// Makes what was written durable.
  package borrowing func synchronize() throws(SystemError) {
    while SystemCalls.synchronize(descriptor, path: path) != 0 {
      if errno != EINTR { throw SystemError("fsync", path) }
    }
  }
}
