import CPlatform

/// An open file, closed by its owner's end. ``Directory`` opens it.
package struct File: ~Copyable, Sendable {
  package enum Access: Sendable {
    case reading
    /// Reading and writing.
    case writing

    var flags: Int32 { self == .reading ? O_RDONLY : O_RDWR }
  }

  /// How to treat existing and missing files.
  package enum Creation: Sendable {
    /// Keeps an existing file as it is.
    case ifMissing
    /// Fails for an existing file.
    case exclusively
    /// Empties an existing file.
    case emptying
  }

  /// For calls outside this type. For calls outside this type.
  package let descriptor: Int32
  /// The path it was opened by, for messages.
  package let path: String

  /// Takes ownership of an open descriptor.
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

  /// An extended attribute of at most `limit` bytes; `nil` if there is none. On Linux a user attribute, with `name`
  /// given without its prefix `user.`.
  package borrowing func attribute(_ name: String, limit: Int = 64) throws(SystemError) -> [UInt8]? {
    #if os(Linux)
      let name = "user." + name
    #endif
    var bytes = [UInt8](repeating: 0, count: limit)
    let length = cplatform_attribute(descriptor, name, &bytes, limit)
    if length < 0 { throw SystemError("fgetxattr", path) }
    return length == 0 ? nil : Array(bytes[..<length])
  }

  /// Whether a name in a directory still leads to this file.
  package borrowing func isStill(_ name: String, in directory: Directory) throws(SystemError) -> Bool {
    try directory.identity(of: name) == identity()
  }

  /// Whether another process has an fcntl(2) lock on any part of it.
  package borrowing func isLockedElsewhere() throws(SystemError) -> Bool {
    let status = cplatform_is_locked_elsewhere(descriptor)
    if status < 0 { throw SystemError("fcntl(F_GETLK)", path) }
    return status == 1
  }

  /// Locks one byte, which may lie past the end, against other open file descriptions. Returns `false` if one has it
  /// locked, and always `true` where the system has no such locks.
  package borrowing func tryLockByte(_ offset: Int64) throws(SystemError) -> Bool {
    let status = cplatform_byte_lock(descriptor, offset, 1)
    if status < 0 { throw SystemError("fcntl(F_OFD_SETLK)", path) }
    return status == 0
  }

  /// Whether another open file description has the byte locked.
  package borrowing func isByteLocked(_ offset: Int64) -> Bool { cplatform_byte_lock(descriptor, offset, -1) == 1 }

  package borrowing func unlockByte(_ offset: Int64) { _ = cplatform_byte_lock(descriptor, offset, 0) }

  // MARK: - Size

  /// Disables copy-on-write (Btrfs) for a file that is still empty. With it, reserved blocks serve only the first
  /// write.
  package borrowing func disableCopyOnWrite() { cplatform_disable_copy_on_write(descriptor) }

  /// Extends the file to at least `size` allocated bytes, so that writes through a map cannot fail. No other process
  /// may write the file at that moment.
  package borrowing func preallocate(_ size: Int) throws(SystemError) { try preallocate(0..<size) }

  /// Allocates a range of the file. No other process may write that range at that moment.
  package borrowing func preallocate(_ part: Range<Int>) throws(SystemError) {
    let status = SystemCalls.allocate(descriptor, part, path: path)
    if status != 0 { throw SystemError("posix_fallocate", path, errno: status) }
  }

  /// Allocates the file's beginning if the file system can reserve blocks; otherwise does nothing. Others may be
  /// writing.
  package borrowing func reserve(_ size: Int) throws(SystemError) {
    let status = SystemCalls.reserve(descriptor, size, path: path)
    if status != 0 { throw SystemError("fallocate", path, errno: status) }
  }

  /// Punches a hole, which then reads as zeros. The file keeps its length.
  ///
  /// - Throws: `EOPNOTSUPP` if the file system cannot.
  package borrowing func punchHole(at offset: Int, size: Int) throws(SystemError) {
    let status = SystemCalls.punchHole(descriptor, offset, size, path: path)
    if status != 0 { throw SystemError("fallocate", path, errno: status) }
  }

  package borrowing func truncate(to size: Int) throws(SystemError) {
    while SystemCalls.truncate(descriptor, size, path: path) != 0 {
      if errno != EINTR { throw SystemError("ftruncate", path) }
    }
  }

  /// Asks the system to start writing a range to the device. Makes nothing durable.
  package borrowing func startWriting(_ part: Range<Int>) {
    cplatform_start_writing(descriptor, Int64(part.lowerBound), Int64(part.count))
  }

  /// Makes all writes durable.
  package borrowing func synchronize() throws(SystemError) {
    while SystemCalls.synchronize(descriptor, path: path) != 0 {
      if errno != EINTR { throw SystemError("fsync", path) }
    }
  }
}
