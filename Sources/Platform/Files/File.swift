import CPlatform

/// An open file, closed by its owner's end. ``Directory`` opens it.
package struct File: ~Copyable, Sendable {
  package enum Access: Sendable {
    case reading
    case writing

    var flags: Int32 { self == .reading ? O_RDONLY : O_RDWR }
  }

  package enum Creation: Sendable {
    case ifMissing
    case exclusively
    /// Empties an existing file.
    case emptying
  }

  package let descriptor: Int32
  /// The path it was opened by, for messages.
  package let path: String

  private init(descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  /// The only open call: blocks on nothing, sets close-on-exec, and retries after signals. New files are the user's alone.
  static func open(_ directory: Int32, _ name: [CChar], _ flags: Int32, path: String) throws(SystemError) -> File {
    let flags = flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
    return File(descriptor: try call(.openat, path) { unsafe openat(directory, name, flags, 0o600) }, path: path)
  }

  /// Throws unless `name` is a plain file name.
  static func checkName(_ name: String, _ operation: String) throws(SystemError) {
    let bytes = name.utf8
    if bytes.isEmpty || name == "." || name == ".." || bytes.contains(UInt8(ascii: "/")) || bytes.contains(0) {
      throw SystemError(operation, name, .name)
    }
  }

  /// A closed file: every call throws `EBADF`.
  package init(closed path: String) { self.init(descriptor: -1, path: path) }

  // The descriptor is closed even after EINTR. Other failures concern earlier writes, which are reported by
  // synchronizing.
  deinit { if descriptor >= 0 { _ = cplatform_close(descriptor) } }

  package borrowing func status() throws(SystemError) -> FileStatus {
    var result = stat()
    _ = try call(.fstat, path) { unsafe fstat(descriptor, &result) }
    return FileStatus(result)
  }

  package borrowing func identity() throws(SystemError) -> FileIdentity { try status().identity }

  /// An extended attribute of at most `limit` bytes; `nil` if there is none. On Linux a user attribute, with `name`
  /// given without its prefix `user.`.
  package borrowing func attribute(_ name: String, limit: Int = 64) throws(SystemError) -> [UInt8]? {
    #if os(Linux)
      let name = "user." + name
    #endif
    var bytes = [UInt8](repeating: 0, count: limit)
    let length = try call("fgetxattr", path) { unsafe cplatform_attribute(descriptor, name, &bytes, limit) }
    return length == 0 ? nil : Array(bytes[..<length])
  }

  /// Whether a name in a directory still leads to this file.
  package borrowing func isStill(_ name: String, in directory: Directory) throws(SystemError) -> Bool {
    try directory.identity(of: name) == identity()
  }

  /// Whether another process has an fcntl(2) lock on any part of it.
  package borrowing func isLockedElsewhere() throws(SystemError) -> Bool {
    try call("fcntl(F_GETLK)", path) { cplatform_is_locked_elsewhere(descriptor) } == 1
  }

  /// Locks one byte, which may lie past the end, against other open file descriptions. Returns `false` if one has it
  /// locked, and always `true` where the system has no such locks.
  package borrowing func tryLockByte(_ offset: Int64) throws(SystemError) -> Bool {
    try call("fcntl(F_OFD_SETLK)", path) { cplatform_byte_lock(descriptor, offset, 1) } == 0
  }

  /// Whether another open file description has the byte locked.
  package borrowing func isByteLocked(_ offset: Int64) -> Bool { cplatform_byte_lock(descriptor, offset, -1) == 1 }

  package borrowing func unlockByte(_ offset: Int64) { _ = cplatform_byte_lock(descriptor, offset, 0) }

  // MARK: - Size

  /// Disables copy-on-write (Btrfs) for a file that is still empty. With it, reserved blocks serve only the first
  /// write.
  package borrowing func disableCopyOnWrite() { cplatform_disable_copy_on_write(descriptor) }

  /// Allocates a range of the file and extends the file to cover it, so that writes through a map cannot fail. No other
  /// process may write that range at that moment.
  package borrowing func preallocate(_ part: Range<Int>) throws(SystemError) {
    _ = try call(.fallocate, path) { cplatform_allocate(descriptor, Int64(part.lowerBound), Int64(part.count)) }
  }

  /// Allocates the file's beginning if the file system can reserve blocks; otherwise does nothing. Others may be
  /// writing.
  package borrowing func reserve(_ size: Int) throws(SystemError) {
    _ = try call(.fallocate, path) { cplatform_reserve(descriptor, Int64(size)) }
  }

  /// Punches a hole, which then reads as zeros; the file keeps its length. Throws `EOPNOTSUPP` if the file system
  /// cannot.
  package borrowing func punchHole(at offset: Int, size: Int) throws(SystemError) {
    _ = try call(.punchHole, path) { cplatform_punch(descriptor, Int64(offset), Int64(size)) }
  }

  package borrowing func truncate(to size: Int) throws(SystemError) {
    _ = try call(.ftruncate, path) { ftruncate(descriptor, off_t(size)) }
  }

  /// Asks the system to start writing a range to the device. Makes nothing durable.
  package borrowing func startWriting(_ part: Range<Int>) {
    cplatform_start_writing(descriptor, Int64(part.lowerBound), Int64(part.count))
  }

  package borrowing func synchronize() throws(SystemError) {
    _ = try call(.fsync, path) { cplatform_fsync(descriptor) }
  }
}

extension File {
  // MARK: - Reading

  /// Fills `bytes` from `offset`; `false` if the file ends before.
  package borrowing func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int = 0) throws(SystemError) -> Bool {
    try unsafe readPart(bytes, at: offset) == bytes.count
  }

  package borrowing func read(_ bytes: inout [UInt8], at offset: Int = 0) throws(SystemError) -> Bool {
    try readPart(&bytes, at: offset) == bytes.count
  }

  /// Reads up to `bytes.count` bytes from `offset`. Returns how many.
  package borrowing func readPart(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Int {
    var done = 0
    while done < bytes.count {
      let rest = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
      let count = try call(.pread, path) {
        unsafe pread(descriptor, rest.baseAddress, rest.count, off_t(offset + done))
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  private borrowing func readPart(_ bytes: inout [UInt8], at offset: Int) throws(SystemError) -> Int {
    var span = bytes.mutableSpan
    return try unsafe span.withUnsafeMutableBytes { (bytes) throws(SystemError) in
      try unsafe readPart(bytes, at: offset)
    }
  }

  /// Reads the whole file, ignoring its reported size, which is 0 in /proc. Throws a finding for more than `limit`
  /// bytes.
  package borrowing func readToEnd(limit: Int) throws(SystemError) -> [UInt8] {
    var contents: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = try readPart(&part, at: contents.count)
      if count > limit - contents.count { throw SystemError("pread", path, .tooLarge(limit: limit)) }
      contents += part[..<count]
      if count < part.count { return contents }
    }
  }

  // MARK: - Writing

  /// Writes all bytes, by default after the last write without an offset. A failure may leave a part of them.
  package borrowing func write(_ bytes: UnsafeRawBufferPointer, at offset: Int? = nil) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
      let count = try call(offset == nil ? .write : .pwrite, path) {
        if let offset { return unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done)) }
        return unsafe cplatform_write(descriptor, rest.baseAddress, rest.count)
      }
      if count == 0 { throw SystemError("write", path, errno: ENOSPC) }
      done += count
    }
  }

  /// Writes two adjacent buffers, in one call if possible.
  package borrowing func write(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int
  ) throws(SystemError) {
    let done = try call(.pwrite, path) {
      unsafe cplatform_write_two(
        descriptor, first.baseAddress, first.count, second.baseAddress, second.count, Int64(offset))
    }
    let (inFirst, inSecond) = (min(done, first.count), max(0, done - first.count))
    try unsafe write(UnsafeRawBufferPointer(rebasing: first[inFirst...]), at: offset + inFirst)
    try unsafe write(UnsafeRawBufferPointer(rebasing: second[inSecond...]), at: offset + first.count + inSecond)
  }

  package borrowing func write(_ bytes: [UInt8], at offset: Int? = nil) throws(SystemError) {
    try unsafe bytes.span.bytes.withUnsafeBytes { (bytes) throws(SystemError) in try unsafe write(bytes, at: offset) }
  }

  /// Copies a range of a file to the same place in this one. Bytes past the other file's end become zeros.
  package borrowing func write(_ range: Range<Int>, of other: borrowing File) throws(SystemError) {
    var offset = range.lowerBound
    while offset < range.upperBound {
      var part = [UInt8](repeating: 0, count: min(range.upperBound - offset, 1 << 20))
      _ = try other.read(&part, at: offset)
      try write(part, at: offset)
      offset += part.count
    }
  }

  /// Fills this empty file with the contents of another one, keeping holes.
  package borrowing func writeSparsely(_ other: borrowing File) throws(SystemError) {
    let size = try other.status().size
    var offset = 0
    while offset < size {
      let data = Int(cplatform_seek(other.descriptor, Int64(offset), 0))
      if data < 0, currentErrno() == ENXIO { break }
      // If the file system does not report holes, everything is data.
      let start = max(data, offset)
      let hole = Int(cplatform_seek(other.descriptor, Int64(start), 1))
      offset = hole < start ? size : min(hole, size)
      if start >= offset { break }
      try write(start..<offset, of: other)
    }
    try truncate(to: size)
  }
}

package struct FileStatus: Hashable, Sendable {
  package let identity: FileIdentity
  package let kind: FileKind
  /// Bytes.
  package let size: Int
  package let allocatedBytes: Int
  /// The number of names; 0 for a removed file.
  package let linkCount: Int
  package let owner: uid_t
  package let mode: mode_t
  /// Last change of the contents: nanoseconds since 1970, clamped.
  package let modified: Int64
  /// Last change of the status, including permissions and names.
  package let changed: Int64
  /// Creation time, if the system provides it.
  package let made: Int64?

  /// Throws a finding unless it is a regular file, and has no other name if asked.
  func checkRegular(_ operation: String, _ path: String, requiresOneName: Bool) throws(SystemError) {
    if kind != .regular { throw SystemError(operation, path, .kind(kind)) }
    if requiresOneName, linkCount > 1 { throw SystemError(operation, path, .names(linkCount)) }
  }

  /// The file that a path leads to, following links; `nil` with `errno` set if there is none.
  package init?(ofPath path: String) {
    var status = stat()
    if unsafe stat(path, &status) != 0 { return nil }
    self.init(status)
  }

  init(_ status: stat) {
    identity = FileIdentity(status)
    kind = FileKind(mode: status.st_mode)
    size = Int(status.st_size)
    // A user-space file system may report any number.
    allocatedBytes = max(0, Int(status.st_blocks)).multipliedClamped(by: 512)
    linkCount = Int(status.st_nlink)
    owner = status.st_uid
    mode = status.st_mode & 0o7777
    #if canImport(Darwin)
      modified = RealTimeClock.nanoseconds(status.st_mtimespec)
      changed = RealTimeClock.nanoseconds(status.st_ctimespec)
      made = RealTimeClock.nanoseconds(status.st_birthtimespec)
    #else
      modified = RealTimeClock.nanoseconds(status.st_mtim)
      changed = RealTimeClock.nanoseconds(status.st_ctim)
      made = nil
    #endif
  }
}

/// Identifies a file regardless of its path.
package struct FileIdentity: Hashable, Sendable {
  package let device: UInt64
  package let inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }

  package init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(truncatingIfNeeded: status.st_ino)
  }
}

/// A shared mapping of a file's beginning, unmapped with the object.
// @unchecked: the pointer never changes; the object's creator owns the memory behind it.
// @safe: the memory stays mapped as long as the object.
@safe package final class MemoryMap: @unchecked Sendable {
  package let base: UnsafeMutableRawPointer
  /// Bytes.
  package let size: Int
  private let protection: Int32

  package static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))

  /// Whether the process's address space is limited (`ulimit -v`).
  package static var isAddressSpaceLimited: Bool {
    var limit = rlimit()
    #if canImport(Glibc)
      let status = unsafe getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    #else
      let status = unsafe getrlimit(RLIMIT_AS, &limit)
    #endif
    // Infinity is the largest number, or half of it.
    return status != 0 || limit.rlim_cur < rlim_t.max / 2
  }

  /// - Parameter access: ``File/Access/writing`` for a file opened for writing.
  package convenience init(_ file: borrowing File, size: Int, _ access: File.Access = .writing) throws(SystemError) {
    try self.init(descriptor: file.descriptor, path: file.path, size: size, access)
  }

  package init(descriptor: Int32, path: String, size: Int, _ access: File.Access) throws(SystemError) {
    protection = access == .reading ? PROT_READ : PROT_READ | PROT_WRITE
    unsafe base = try Self.map(nil, size, protection, descriptor, path)
    self.size = size
  }

  /// Replaces the mapped file, immediately for all readers.
  package func replace(descriptor: Int32, path: String) throws(SystemError) {
    _ = try unsafe Self.map(base, size, protection, descriptor, path)
  }

  /// - Parameter place: The address of a mapping to replace.
  private static func map(
    _ place: UnsafeMutableRawPointer?, _ size: Int, _ protection: Int32, _ descriptor: Int32, _ path: String
  ) throws(SystemError) -> UnsafeMutableRawPointer {
    var address = unsafe place
    _ = try call(.mmap, path) { () -> Int in
      unsafe address = mmap(place, size, protection, MAP_SHARED | (place == nil ? 0 : MAP_FIXED), descriptor, 0)
      return unsafe address == MAP_FAILED ? -1 : 0
    }
    return unsafe address!
  }

  /// Whether a range's pages are in memory, so that reading it cannot cause an I/O error.
  package func isResident(_ offset: Int, count: Int) -> Bool {
    unsafe offset >= 0 && count >= 0 && offset <= size - count && cplatform_is_resident(base + offset, count) == 1
  }

  deinit { unsafe munmap(base, size) }
}
