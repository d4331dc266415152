import CPlatform

/// An open directory. All operations use its descriptor, so it stays the same directory when it is renamed or its path
/// is reused.
///
/// Names are plain file names, never paths, and links are not followed. Only the directory's own path may contain
/// links.
package final class Directory: Sendable {
  let descriptor: Int32
  /// The path when it was opened: absolute, without links, `.`, `..` or a trailing slash. A directory reached through
  /// another root (`/proc/…/root`) has no such path, and keeps the one it was opened by.
  package let path: String
  package let identity: FileIdentity

  /// Takes ownership of an open descriptor.
  init(_ descriptor: Int32, _ path: String, _ identity: FileIdentity) {
    self.descriptor = descriptor
    self.path = path
    self.identity = identity
  }

  /// Opens a directory, first creating it and its missing parents if asked.
  ///
  /// - Parameter synchronized: Whether a new directory must survive a power cut.
  package convenience init(
    path: String, creating: Bool = false, synchronized: Bool = false
  ) throws(SystemError) {
    if creating { try Self.make(path, synchronized: synchronized) }
    var attempts = 0
    while true {
      let descriptor = try Descriptors.open(
        AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, path: path, checksName: false)
      do throws(SystemError) {
        let identity = FileIdentity(try Descriptors.status(descriptor, path: path))
        // If the paths never agree, a link leads to another root.
        let isElsewhere = attempts >= Self.renamingLimit && path.hasPrefix("/")
        let canonical = isElsewhere ? path : try Self.canonicalPath(path)
        // Renamed in between: retry.
        guard try Self.identity(ofPath: canonical) == identity else {
          if attempts >= 2 * Self.renamingLimit { throw SystemError("realpath", path, errno: ELOOP) }
          attempts += 1
          Descriptors.close(descriptor)
          continue
        }
        self.init(descriptor, canonical, identity)
        return
      } catch {
        Descriptors.close(descriptor)
        throw error
      }
    }
  }

  private static let renamingLimit = 20

  /// Opens a directory; `nil` if it does not exist.
  package convenience init?(existing path: String) throws(SystemError) {
    do throws(SystemError) {
      try self.init(path: path)
    } catch {
      if error.errno == ENOENT { return nil }
      throw error
    }
  }

  /// This directory without a descriptor: every call throws `EBADF`.
  package func closed() -> Directory { Directory(-1, path, identity) }

  deinit { if descriptor >= 0 { Descriptors.close(descriptor) } }

  /// Opens the subdirectory `name`; `nil` if it does not exist.
  ///
  /// - Throws: An error with a finding if it is something else, such as a link.
  package func subdirectory(_ name: String) throws(SystemError) -> Directory? {
    let path = self.path(of: name)
    let descriptor: Int32
    do throws(SystemError) {
      descriptor = try Descriptors.open(self.descriptor, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK, path: path)
    } catch {
      switch error.errno {
      case ENOENT: return nil
      case ELOOP, ENOTDIR, EMLINK:
        guard let kind = try kind(of: name), kind != .directory else { throw error }
        throw SystemError("openat", path, errno: ENOTDIR)
      default: throw error
      }
    }
    do throws(SystemError) {
      let identity = FileIdentity(try Descriptors.status(descriptor, path: path))
      return Directory(descriptor, path, identity)
    } catch {
      Descriptors.close(descriptor)
      throw error
    }
  }

  /// Opens or creates the subdirectory `name`. Removes a new one that cannot be opened.
  ///
  /// - Parameter synchronized: Whether a new directory must survive a power cut.
  package func makeSubdirectory(_ name: String, synchronized: Bool = false) throws(SystemError) -> Directory {
    try Descriptors.checkName(name, "mkdirat")
    while true {
      let path = path(of: name)
      let isMade = SystemCalls.makeDirectory(descriptor, name, path: path) == 0
      if !isMade, errno != EEXIST { throw SystemError("mkdirat", path) }
      do throws(SystemError) {
        if isMade, synchronized { try synchronize() }
        // `nil` if another process removed it.
        if let directory = try subdirectory(name) { return directory }
      } catch {
        // Removes only an empty directory. The caller needs the first error.
        if isMade { _ = SystemCalls.remove(descriptor, Array(name.utf8CString), flags: AT_REMOVEDIR, path: path) }
        throw error
      }
    }
  }

  /// A file's path, for messages.
  package func path(of name: String) -> String { path == "/" ? path + name : path + "/" + name }

  /// Whether its path still leads to it.
  package func isStillAtItsPath() throws(SystemError) -> Bool { try Self.identity(ofPath: path) == identity }

  /// A path for C libraries that accept nothing else: one that follows the directory if the system has such paths,
  /// otherwise the one it was opened by, where the caller must compare identities afterwards.
  package var pathForC: String {
    #if os(Linux)
      // proc(5). Missing without /proc, as in some chroots.
      let own = "/proc/self/fd/\(descriptor)"
      var status = stat()
      if stat(own, &status) == 0, FileIdentity(status) == identity { return own }
    #endif
    return path
  }

  /// Makes changes of its entries durable: new files, renames and removals.
  package func synchronize() throws(SystemError) {
    while SystemCalls.synchronize(descriptor, path: path) != 0 {
      if errno != EINTR { throw SystemError("fsync", path) }
    }
  }

  /// Makes its volume durable.
  package func synchronizeVolume() throws(SystemError) {
    if SystemCalls.synchronizeVolume(descriptor, path: path) != 0 { throw SystemError("syncfs", path) }
  }
}

// Operations by path: finding and creating the directory itself.

extension Directory {
  /// `realpath(3)`: absolute, without links, `.`, `..` or a trailing slash.
  package static func canonicalPath(_ path: String) throws(SystemError) -> String {
    guard !path.utf8.contains(0) else { throw SystemError("realpath", path, .name) }
    guard let resolved = realpath(path, nil) else { throw SystemError("realpath", path) }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// The file that a path leads to, following links; `nil` if there is none.
  package static func identity(ofPath path: String) throws(SystemError) -> FileIdentity? {
    guard !path.utf8.contains(0) else { throw SystemError("stat", path, .name) }
    var status = stat()
    if stat(path, &status) == 0 { return FileIdentity(status) }
    if errno == ENOENT || errno == ENOTDIR { return nil }
    throw SystemError("stat", path)
  }

  /// Creates `path` and its missing parents.
  static func make(_ path: String, synchronized: Bool) throws(SystemError) {
    guard !path.utf8.contains(0) else { throw SystemError("mkdir", path, .name) }
    if SystemCalls.makeDirectory(AT_FDCWD, path, path: path) == 0 {
      if synchronized { try synchronizeParent(of: path) }
      return
    }
    switch errno {
    case EEXIST: return  // Whatever it is: opening it tells.
    case ENOENT:
      guard let parent = parent(of: path) else { throw SystemError("mkdir", path) }
      try make(parent, synchronized: synchronized)
      // Created by another process in between, or a path that ends in "..": opening it decides.
      if SystemCalls.makeDirectory(AT_FDCWD, path, path: path) != 0 {
        if errno == EEXIST { return }
        throw SystemError("mkdir", path)
      }
      if synchronized { try synchronizeParent(of: path) }
    default:
      throw SystemError("mkdir", path)
    }
  }

  /// Makes its entries durable, and the path from the top of its volume: a process that created part of it may have
  /// died before the path reached the disk.
  package func synchronizePath() throws(SystemError) {
    var next: String? = path
    while let path = next {
      do throws(SystemError) {
        let directory = try Directory(path: path)
        guard directory.identity.device == identity.device else { return }
        try directory.synchronize()
      } catch {
        // Some file systems, and directories that may be entered but not read, cannot be synchronized. There the file
        // system must keep the order.
        guard [EACCES, EINVAL, EROFS].contains(error.errno) else { throw error }
      }
      next = Self.parent(of: path)
    }
  }

  /// `nil` for a path without a slash, and for the root.
  private static func parent(of path: String) -> String? {
    let bytes = path.utf8
    var end = bytes.endIndex
    while end > bytes.startIndex, bytes[bytes.index(before: end)] == UInt8(ascii: "/") {
      end = bytes.index(before: end)
    }
    guard end > bytes.startIndex, let slash = bytes[..<end].lastIndex(of: UInt8(ascii: "/")) else { return nil }
    return slash == bytes.startIndex ? "/" : String(path[..<slash])
  }

  /// Makes a new directory's name durable. If the parent may be entered but not read, the file system must keep the
  /// order.
  private static func synchronizeParent(of path: String) throws(SystemError) {
    do throws(SystemError) {
      try Directory(path: parent(of: path) ?? ".").synchronize()
    } catch {
      if error.errno != EACCES { throw error }
    }
  }
}

// Files by name in an open directory.

extension Directory {
  /// Opens a regular file; `nil` if it does not exist.
  ///
  /// - Parameter requiresOneName: Whether to refuse a file with other names (hard links).
  /// - Throws: An error with a finding for a link, FIFO, device, socket or directory, without blocking on any of them.
  package func open(
    _ name: String, _ access: File.Access = .reading, requiresOneName: Bool = false
  ) throws(SystemError) -> File? {
    do throws(SystemError) {
      return try openRegular(name, access.flags, mode: 0, requiresOneName: requiresOneName)
    } catch {
      if error.errno == ENOENT { return nil }
      throw error
    }
  }

  /// Opens a regular file for reading and writing, and creates it if necessary.
  ///
  /// - Throws: As ``open(_:_:requiresOneName:)``; also for `.emptying` a file with other names, which is left
  ///   unchanged; `EEXIST` for an existing file with `.exclusively`.
  package func create(
    _ name: String, _ creation: File.Creation = .ifMissing, permissions: mode_t = 0o600, requiresOneName: Bool = false
  ) throws(SystemError) -> File {
    var flags = File.Access.writing.flags | O_CREAT
    if creation == .exclusively { flags |= O_EXCL }
    let file = try openRegular(
      name, flags, mode: permissions, requiresOneName: requiresOneName || creation == .emptying)
    // Not O_TRUNC, which empties the file before it can be checked.
    if creation == .emptying, try file.status().size > 0 { try file.truncate(to: 0) }
    return file
  }

  private func openRegular(
    _ name: String, _ flags: Int32, mode: mode_t, requiresOneName: Bool
  ) throws(SystemError) -> File {
    let path = self.path(of: name)
    let opened: Int32
    do throws(SystemError) {
      opened = try Descriptors.open(descriptor, name, flags | O_NONBLOCK, mode: mode, path: path)
    } catch {
      // The errors for links, directories opened for writing, FIFOs without a reader, and sockets.
      if [ELOOP, EMLINK, EISDIR, ENXIO, ENODEV, EOPNOTSUPP].contains(error.errno), let kind = try kind(of: name),
        kind != .regular
      {
        throw SystemError("openat", path, .kind(kind))
      }
      throw error
    }
    let file = File(descriptor: opened, path: path)
    let status = try file.status()
    if status.kind != .regular { throw SystemError("openat", path, .kind(status.kind)) }
    if requiresOneName && status.linkCount > 1 { throw SystemError("openat", path, .names(status.linkCount)) }
    return file
  }

  /// A separate descriptor of this directory, for a lock on it. See ``FileLock``.
  package func openItself() throws(SystemError) -> File {
    File(
      descriptor: try Descriptors.open(
        descriptor, ".", O_RDONLY | O_DIRECTORY, path: path, checksName: false), path: path)
  }

  // MARK: - Looking

  /// The status of `name` without following a link; `nil` if it does not exist.
  package func status(of name: String) throws(SystemError) -> FileStatus? {
    try Descriptors.checkName(name, "fstatat")
    var result = stat()
    if SystemCalls.status(descriptor, name, &result, path: path(of: name)) == 0 { return FileStatus(result) }
    if errno == ENOENT { return nil }
    throw SystemError("fstatat", path(of: name))
  }

  /// The status of a regular file with one name, as for ``open(_:_:requiresOneName:)``, without opening it.
  package func statusOfOwnFile(_ name: String) throws(SystemError) -> FileStatus? {
    guard let status = try status(of: name) else { return nil }
    if status.kind != .regular { throw SystemError("fstatat", path(of: name), .kind(status.kind)) }
    if status.linkCount > 1 { throw SystemError("fstatat", path(of: name), .names(status.linkCount)) }
    return status
  }

  package func kind(of name: String) throws(SystemError) -> FileKind? { try status(of: name)?.kind }

  package func identity(of name: String) throws(SystemError) -> FileIdentity? { try status(of: name)?.identity }

  /// Size in bytes; `nil` if it does not exist.
  package func size(of name: String) throws(SystemError) -> Int? { try status(of: name)?.size }

  // MARK: - Changing

  /// Removes a file or a link. Does nothing if it is already gone.
  package func remove(_ name: String) throws(SystemError) {
    try Descriptors.checkName(name, "unlinkat")
    if SystemCalls.remove(descriptor, name, flags: 0, path: path(of: name)) != 0, errno != ENOENT {
      throw SystemError("unlinkat", path(of: name))
    }
  }

  /// Renames a file, replacing any file with the new name.
  package func rename(_ name: String, to newName: String) throws(SystemError) {
    try rename(name, to: self, as: newName)
  }

  /// Moves a file to another directory of the same volume.
  package func rename(_ name: String, to directory: Directory, as newName: String) throws(SystemError) {
    try Descriptors.checkName(name, "renameat")
    try Descriptors.checkName(newName, "renameat")
    let path = directory.path(of: newName)
    if SystemCalls.rename(descriptor, name, directory.descriptor, newName, path: path) != 0 {
      throw SystemError("renameat", path)
    }
  }

  /// Atomically exchanges two names.
  ///
  /// - Returns: `false` if the system or the file system cannot; nothing has changed.
  package func exchange(_ first: String, _ second: String) throws(SystemError) -> Bool {
    try Descriptors.checkName(first, "renameat")
    try Descriptors.checkName(second, "renameat")
    if SystemCalls.exchange(descriptor, first, second, path: path(of: second)) == 0 { return true }
    if [ENOSYS, EINVAL, EOPNOTSUPP].contains(errno) { return false }
    throw SystemError("renameat", path(of: second))
  }
}

// Recursion over a directory's contents.

extension Directory {
  /// Our trees are never deeper; each level takes a descriptor.
  private static let greatestDepth = 64

  /// The names in it without `.` and `..`. Omits names that are not UTF-8: ours always are. See ``isEmpty()``.
  package func names() throws(SystemError) -> [String] {
    var names: [String] = []
    for name in try rawNames() {
      if let name = String(validating: name.dropLast().lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self) {
        names.append(name)
      }
    }
    return names
  }

  /// Calls `body` with a printable form of each name that is not UTF-8. See ``names()``.
  package func forEachUnreadableName(_ body: (String) -> Void) throws(SystemError) {
    for name in try rawNames() {
      let bytes = name.dropLast().lazy.map { UInt8(bitPattern: $0) }
      if String(validating: bytes, as: UTF8.self) == nil { body(String(decoding: bytes, as: UTF8.self)) }
    }
  }

  /// Whether it has no entries, not even ones that are not UTF-8.
  package func isEmpty() throws(SystemError) -> Bool { try rawNames().isEmpty }

  /// Removes `name` and its contents without following links. Does nothing if it is already gone.
  package func removeTree(_ name: String) throws(SystemError) {
    try Descriptors.checkName(name, "unlinkat")
    try removeTree(Array(name.utf8CString), depth: 0)
  }

  /// Makes all files and names in the tree durable.
  package func synchronizeTree() throws(SystemError) { try synchronizeTree(depth: 0) }

  private func synchronizeTree(depth: Int) throws(SystemError) {
    if depth > Self.greatestDepth { throw SystemError("fsync", path, errno: ELOOP) }
    for name in try names() {
      switch try kind(of: name) {
      case .regular: try open(name)?.synchronize()
      case .directory: try subdirectory(name)?.synchronizeTree(depth: depth + 1)
      default: break
      }
    }
    try synchronize()
  }

  /// Bytes on disk of all files in the tree.
  package func allocatedBytes() throws(SystemError) -> Int { try allocatedBytes(depth: 0) }

  // MARK: -

  /// With their terminating NULs.
  private func rawNames() throws(SystemError) -> [[CChar]] {
    // A separate descriptor: each has a single position, and this object is shared by threads.
    let own = try Descriptors.open(descriptor, ".", O_RDONLY | O_DIRECTORY, path: path, checksName: false)
    guard let stream = fdopendir(own) else {
      let error = SystemError("fdopendir", path)
      Descriptors.close(own)
      throw error
    }
    defer { closedir(stream) }
    var names: [[CChar]] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno != 0 { throw SystemError("readdir", path) }
        return names
      }
      // The entry ends with its name and may be shorter than its type.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { preconditionFailure("dirent has no name") }
      let start = (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)
      let name = [CChar](UnsafeBufferPointer(start: start, count: strlen(start) + 1))
      if name != [0x2E, 0] && name != [0x2E, 0x2E, 0] { names.append(name) }
    }
  }

  private func rawPath(_ name: [CChar]) -> String {
    path(of: String(decoding: name.dropLast().lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self))
  }

  /// `nil` if it is missing or not a directory.
  private func rawSubdirectory(_ name: [CChar]) throws(SystemError) -> Directory? {
    let path = rawPath(name)
    var status = stat()
    if SystemCalls.status(descriptor, name, &status, path: path) != 0 {
      if errno == ENOENT { return nil }
      throw SystemError("fstatat", path)
    }
    guard FileKind(mode: status.st_mode) == .directory else { return nil }
    var opened: Int32
    repeat {
      opened = openat(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0)
    } while opened < 0 && errno == EINTR
    if opened >= 0 { return Directory(opened, path, FileIdentity(status)) }
    // Removed or replaced since it was inspected.
    if errno == ENOENT || errno == ENOTDIR || errno == ELOOP { return nil }
    throw SystemError("openat", path)
  }

  private func removeTree(_ name: [CChar], depth: Int) throws(SystemError) {
    let path = rawPath(name)
    if depth > Self.greatestDepth { throw SystemError("unlinkat", path, errno: ENAMETOOLONG) }
    guard let directory = try rawSubdirectory(name) else {
      if SystemCalls.remove(descriptor, name, flags: 0, path: path) != 0, errno != ENOENT {
        throw SystemError("unlinkat", path)
      }
      return
    }
    for child in try directory.rawNames() { try directory.removeTree(child, depth: depth + 1) }
    if SystemCalls.remove(descriptor, name, flags: AT_REMOVEDIR, path: path) != 0, errno != ENOENT {
      throw SystemError("unlinkat", path)
    }
  }

  private func allocatedBytes(depth: Int) throws(SystemError) -> Int {
    if depth > Self.greatestDepth { throw SystemError("openat", path, errno: ENAMETOOLONG) }
    var total = 0
    for name in try rawNames() {
      if let directory = try rawSubdirectory(name) {
        total = total.addingClamped(try directory.allocatedBytes(depth: depth + 1))
        continue
      }
      var status = stat()
      // Removed since it was listed.
      if SystemCalls.status(descriptor, name, &status, path: rawPath(name)) != 0 {
        if errno == ENOENT { continue }
        throw SystemError("fstatat", rawPath(name))
      }
      total = total.addingClamped(FileStatus.bytes(ofBlocks: Int(status.st_blocks)))
    }
    return total
  }
}

// The directory's volume and permissions.

extension Directory {
  /// Bytes that this user may still write to the volume.
  package func freeSpace() throws(SystemError) -> Int {
    var status = statvfs()
    while fstatvfs(descriptor, &status) != 0 {
      if errno != EINTR { throw SystemError("fstatvfs", path) }
    }
    let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return overflow ? .max : Int(clamping: bytes)
  }

  package func status() throws(SystemError) -> FileStatus {
    FileStatus(try Descriptors.status(descriptor, path: path))
  }

  /// - Throws: `EACCES` or `EROFS` if this user cannot create and remove files in it.
  package func checkWritable() throws(SystemError) {
    if cplatform_is_writable(descriptor) != 0 { throw SystemError("faccessat", path) }
  }

  /// Whether this process's user owns it.
  package func isOwnedByUser() throws(SystemError) -> Bool { try status().owner == geteuid() }

  /// Whether other users may create files in it. (The sticky bit does not prevent that.)
  package func isWritableByOthers() throws(SystemError) -> Bool { try status().mode & (S_IWGRP | S_IWOTH) != 0 }

  /// Whether it is on a network file system.
  package func isRemote() throws(SystemError) -> Bool {
    #if os(Linux)
      let type = cplatform_file_system(descriptor)
      if type < 0 { throw SystemError("fstatfs", path) }
      if Self.remoteMagic.contains(type) { return true }
      guard type == Self.fuse else { return false }
      // Only the list of mounts gives the kind. It is missing in a chroot without /proc, for example.
      guard let folder = try Directory(existing: "/proc/self"), let file = try folder.open("mountinfo") else {
        return false
      }
      let device = try Descriptors.status(descriptor, path: path).st_dev
      return Self.isRemote(
        device: "\(Self.major(device)):\(Self.minor(device))", mountInfo: try file.readToEnd(limit: 16 << 20))
    #else
      var status = statfs()
      if fstatfs(descriptor, &status) != 0 { throw SystemError("fstatfs", path) }
      return status.f_flags & UInt32(MNT_LOCAL) == 0
    #endif
  }

  #if os(Linux)
    /// Whether a device (`major:minor`) is a network file system, by the kernel's list of mounts.
    package static func isRemote(device: String, mountInfo: [UInt8]) -> Bool {
      // proc(5): ID, parent, major:minor, root, mount point, options, optional fields, "-", type, …
      for line in mountInfo.split(separator: UInt8(ascii: "\n")) {
        let fields = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard fields.count > 4, fields[2] == device, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
        else { continue }
        return remoteTypes.contains(fields[dash + 1])
      }
      return false
    }

    // makedev(3)'s macros, which Swift cannot import.
    static func major(_ device: dev_t) -> dev_t { (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF }
    static func minor(_ device: dev_t) -> dev_t { device & 0xFF | (device >> 12) & ~0xFF }

    /// statfs(2): NFS, SMB, CIFS, SMB 2, 9P, Ceph, AFS (two), Coda, Lustre, GFS2, OCFS2.
    private static let remoteMagic: Set<Int64> = [
      0x6969, 0x517B, 0xFF53_4D42, 0xFE53_4D42, 0x0102_1997, 0x00C3_6400, 0x5346_414F, 0x6B41_4653, 0x7375_7245,
      0x0BD0_0BD0, 0x0116_1970, 0x7461_636F,
    ]
    private static let fuse: Int64 = 0x6573_5546

    private static let remoteTypes: Set = [
      "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "coda", "glusterfs", "lustre", "gfs2", "ocfs2",
      "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "virtiofs",
    ]
  #endif
}

/// A user directory of the XDG base directory specification.
package enum BaseDirectory: String, Sendable {
  case caches = "XDG_CACHE_HOME"
  case configuration = "XDG_CONFIG_HOME"
  case data = "XDG_DATA_HOME"

  /// The path in the directory's variable, or its standard place in the home directory.
  package func path(_ variable: (String) -> String? = Self.variable) -> String {
    let standard =
      switch self {
      case .caches: "/.cache"
      case .configuration: "/.config"
      case .data: "/.local/share"
      }
    return Self.absolutePath(variable(rawValue)) ?? Self.home(variable) + standard
  }

  /// The home directory: `$HOME` before the password database, like shells and Foundation's user defaults.
  package static func home(_ variable: (String) -> String? = Self.variable) -> String {
    absolutePath(variable("HOME")) ?? registeredHome ?? ""
  }

  package static func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

  /// The specification ignores relative paths.
  private static func absolutePath(_ path: String?) -> String? { path.flatMap { $0.hasPrefix("/") ? $0 : nil } }

  private static var registeredHome: String? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer in
      guard getpwuid_r(getuid(), &entry, buffer.baseAddress!, buffer.count, &found) == 0, found != nil else {
        return nil
      }
      return entry.pw_dir.map { String(cString: $0) }
    }
  }
}
