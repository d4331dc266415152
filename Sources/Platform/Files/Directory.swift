import CPlatform

/// An open directory. Operations use its descriptor, so it stays the same when it is renamed. Names are plain file
/// names, and links are not followed; only the directory's own path may contain links.
package final class Directory: Sendable {
  private let file: File
  /// The path when it was opened: absolute, without links, `.`, `..` or a trailing slash. A directory reached through
  /// another root (`/proc/…/root`) has no such path, and keeps the one it was opened by.
  package let path: String
  package let identity: FileIdentity

  var descriptor: Int32 { file.descriptor }

  private init(_ file: consuming File, _ path: String, _ identity: FileIdentity) {
    self.file = file
    self.path = path
    self.identity = identity
  }

  /// Opens a directory, first creating it and its missing parents if asked, or also making them `synchronized`:
  /// durable.
  package convenience init(path: String, creating: Bool = false, synchronized: Bool = false) throws(SystemError) {
    if path.utf8.contains(0) { throw SystemError("openat", path, .name) }
    if creating { try Self.make(path, synchronized: synchronized) }
    var attempts = 0
    while true {
      let file = try File.open(AT_FDCWD, path.cString, O_RDONLY | O_DIRECTORY, path: path)
      let identity = try file.identity()
      // If the paths never agree, a link leads to another root.
      let isElsewhere = attempts >= Self.renamingLimit && path.hasPrefix("/")
      let canonical = isElsewhere ? path : try Self.canonicalPath(path)
      if try Self.identity(ofPath: canonical) == identity {
        self.init(file, canonical, identity)
        return
      }
      // Renamed in between: retry.
      if attempts >= 2 * Self.renamingLimit { throw SystemError("realpath", path, errno: ELOOP) }
      attempts += 1
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
  package func closed() -> Directory { Directory(File(closed: path), path, identity) }

  /// Opens the subdirectory `name`; `nil` if it does not exist. Throws `ENOTDIR` for anything else, such as a link.
  package func subdirectory(_ name: String) throws(SystemError) -> Directory? {
    try File.checkName(name, "openat")
    let path = self.path(of: name)
    do throws(SystemError) {
      let file = try File.open(descriptor, name.cString, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, path: path)
      let identity = try file.identity()
      return Directory(file, path, identity)
    } catch {
      if error.errno == ENOENT { return nil }
      if [ELOOP, EMLINK].contains(error.errno), let kind = try kind(of: name), kind != .directory {
        throw SystemError("openat", path, errno: ENOTDIR)
      }
      throw error
    }
  }

  /// Opens or creates the subdirectory `name`. Removes a new one that cannot be opened. `synchronized` makes it
  /// durable.
  package func makeSubdirectory(_ name: String, synchronized: Bool = false) throws(SystemError) -> Directory {
    try File.checkName(name, "mkdirat")
    while true {
      let isMade = try Self.makeOne(descriptor, name, path: path(of: name))
      do throws(SystemError) {
        if isMade, synchronized { try synchronize() }
        // `nil` if another process removed it.
        if let directory = try subdirectory(name) { return directory }
      } catch {
        // Removes only an empty directory. The caller needs the first error.
        if isMade { _ = unsafe unlinkat(descriptor, name, AT_REMOVEDIR) }
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
      if FileStatus(ofPath: own)?.identity == identity { return own }
    #endif
    return path
  }

  /// Makes changes of its entries durable: new files, renames and removals.
  package func synchronize() throws(SystemError) { try file.synchronize() }

  package func synchronizeVolume() throws(SystemError) { _ = try call(.syncfs, path) { cplatform_syncfs(descriptor) } }
}

// Operations by path: finding and creating the directory itself.

extension Directory {
  /// `realpath(3)`: absolute, without links, `.`, `..` or a trailing slash.
  package static func canonicalPath(_ path: String) throws(SystemError) -> String {
    guard !path.utf8.contains(0) else { throw SystemError("realpath", path, .name) }
    guard let resolved = unsafe realpath(path, nil) else { throw SystemError("realpath", path) }
    defer { unsafe free(resolved) }
    return unsafe String(cString: resolved)
  }

  /// The file that a path leads to, following links; `nil` if there is none.
  package static func identity(ofPath path: String) throws(SystemError) -> FileIdentity? {
    guard !path.utf8.contains(0) else { throw SystemError("stat", path, .name) }
    if let status = FileStatus(ofPath: path) { return status.identity }
    if errno == ENOENT || errno == ENOTDIR { return nil }
    throw SystemError("stat", path)
  }

  /// Returns whether the directory is new. Whatever else has the name, opening it tells.
  private static func makeOne(_ descriptor: Int32, _ name: String, path: String) throws(SystemError) -> Bool {
    try allowing(EEXIST) { () throws(SystemError) in
      try call(.mkdirat, path) { unsafe mkdirat(descriptor, name, 0o700) }
    } != nil
  }

  private static func make(_ path: String, synchronized: Bool) throws(SystemError) {
    var isMade: Bool
    do throws(SystemError) {
      isMade = try makeOne(AT_FDCWD, path, path: path)
    } catch {
      guard error.errno == ENOENT, let parent = parent(of: path) else { throw error }
      try make(parent, synchronized: synchronized)
      isMade = try makeOne(AT_FDCWD, path, path: path)
    }
    guard isMade, synchronized else { return }
    // If the parent may be entered but not read, the file system must keep the order.
    _ = try allowing(EACCES) { () throws(SystemError) in
      try Directory(path: parent(of: path) ?? ".").synchronize()
    }
  }

  /// Makes its entries durable, and the path from the top of its volume: a process that created part of it may have
  /// died before the path reached the disk.
  package func synchronizePath() throws(SystemError) {
    var next: String? = path
    while let path = next {
      // Some file systems, and directories that may be entered but not read, cannot be synchronized. There the file
      // system must keep the order.
      let isSameVolume = try allowing(EACCES, EINVAL, EROFS) { () throws(SystemError) in
        let directory = try Directory(path: path)
        guard directory.identity.device == identity.device else { return false }
        try directory.synchronize()
        return true
      }
      if isSameVolume == false { return }
      next = Self.parent(of: path)
    }
  }

  /// `nil` for a path without a slash, and for the root.
  private static func parent(of path: String) -> String? {
    var end = path.utf8[...]
    while end.last == UInt8(ascii: "/") { end.removeLast() }
    guard let slash = end.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}

extension Directory {
  /// Opens a regular file; `nil` if it does not exist. Throws an error with a finding for anything else, without
  /// blocking, and with `requiresOneName` for a file with other names (hard links).
  package func open(
    _ name: String, _ access: File.Access = .reading, requiresOneName: Bool = false
  ) throws(SystemError) -> File? {
    try allowing(ENOENT) { () throws(SystemError) in
      try openRegular(name, access.flags, requiresOneName: requiresOneName)
    }
  }

  /// Opens a regular file for reading and writing, and creates it if necessary. Throws as
  /// ``open(_:_:requiresOneName:)``; `.emptying` also refuses a file with other names.
  package func create(
    _ name: String, _ creation: File.Creation = .ifMissing, requiresOneName: Bool = false
  ) throws(SystemError) -> File {
    var flags = File.Access.writing.flags | O_CREAT
    if creation == .exclusively { flags |= O_EXCL }
    let file = try openRegular(name, flags, requiresOneName: requiresOneName || creation == .emptying)
    // Not O_TRUNC, which empties the file before it can be checked.
    if creation == .emptying, try file.status().size > 0 { try file.truncate(to: 0) }
    return file
  }

  private func openRegular(_ name: String, _ flags: Int32, requiresOneName: Bool) throws(SystemError) -> File {
    try File.checkName(name, "openat")
    let path = self.path(of: name)
    do throws(SystemError) {
      let file = try File.open(descriptor, name.cString, flags | O_NOFOLLOW, path: path)
      try file.status().checkRegular("openat", path, requiresOneName: requiresOneName)
      return file
    } catch {
      // The errors for links, directories opened for writing, FIFOs without a reader, and sockets.
      if error.finding == nil, [ELOOP, EMLINK, EISDIR, ENXIO, ENODEV, EOPNOTSUPP].contains(error.errno) {
        try status(of: name)?.checkRegular("openat", path, requiresOneName: false)
      }
      throw error
    }
  }

  /// A separate descriptor of this directory, for a lock on it. See ``FileLock``.
  func openItself() throws(SystemError) -> File {
    try File.open(descriptor, ".".cString, O_RDONLY | O_DIRECTORY, path: path)
  }

  // MARK: - Looking

  /// The status of `name` without following a link; `nil` if it does not exist.
  package func status(of name: String) throws(SystemError) -> FileStatus? {
    try File.checkName(name, "fstatat")
    return try status(name.cString, path: path(of: name))
  }

  private func status(_ name: [CChar], path: String) throws(SystemError) -> FileStatus? {
    var result = stat()
    let found = try allowing(ENOENT) { () throws(SystemError) in
      try call(.fstatat, path) { unsafe fstatat(descriptor, name, &result, AT_SYMLINK_NOFOLLOW) }
    }
    return found.map { _ in FileStatus(result) }
  }

  /// The status of a regular file with one name, as for ``open(_:_:requiresOneName:)``, without opening it.
  package func statusOfOwnFile(_ name: String) throws(SystemError) -> FileStatus? {
    let status = try status(of: name)
    try status?.checkRegular("fstatat", path(of: name), requiresOneName: true)
    return status
  }

  package func kind(of name: String) throws(SystemError) -> FileKind? { try status(of: name)?.kind }

  package func identity(of name: String) throws(SystemError) -> FileIdentity? { try status(of: name)?.identity }

  /// Size in bytes; `nil` if it does not exist.
  package func size(of name: String) throws(SystemError) -> Int? { try status(of: name)?.size }

  // MARK: - Changing

  /// Removes a file or a link. Does nothing if it is already gone.
  package func remove(_ name: String) throws(SystemError) {
    try File.checkName(name, "unlinkat")
    try remove(name.cString, isDirectory: false, path: path(of: name))
  }

  private func remove(_ name: [CChar], isDirectory: Bool, path: String) throws(SystemError) {
    _ = try allowing(ENOENT) { () throws(SystemError) in
      try call(.unlinkat, path) { unsafe unlinkat(descriptor, name, isDirectory ? AT_REMOVEDIR : 0) }
    }
  }

  /// Renames a file, replacing any file with the new name.
  package func rename(_ name: String, to newName: String) throws(SystemError) {
    try rename(name, to: self, as: newName)
  }

  /// Moves a file to another directory of the same volume.
  package func rename(_ name: String, to directory: Directory, as newName: String) throws(SystemError) {
    try File.checkName(name, "renameat")
    try File.checkName(newName, "renameat")
    _ = try call(.renameat, directory.path(of: newName)) {
      unsafe renameat(descriptor, name, directory.descriptor, newName)
    }
  }

  /// Atomically exchanges two names. Returns `false`, without a change, if the system cannot.
  package func exchange(_ first: String, _ second: String) throws(SystemError) -> Bool {
    try File.checkName(first, "renameat")
    try File.checkName(second, "renameat")
    return try allowing(ENOSYS, EINVAL, EOPNOTSUPP) { () throws(SystemError) in
      try call(.renameat, path(of: second)) { unsafe cplatform_exchange(descriptor, first, second) }
    } != nil
  }
}

extension Directory {
  /// Our trees are never deeper; each level takes a descriptor.
  private static let greatestDepth = 64

  /// The names in it without `.` and `..`, and without names that are not UTF-8: ours always are.
  package func names() throws(SystemError) -> [String] {
    try rawNames().compactMap { String(validating: $0.dropLast().lazy.map(UInt8.init(bitPattern:)), as: UTF8.self) }
  }

  /// Calls `body` with a printable form of each name that is not UTF-8.
  package func forEachUnreadableName(_ body: (String) -> Void) throws(SystemError) {
    for name in try rawNames() {
      let bytes = name.dropLast().map(UInt8.init(bitPattern:))
      if String(validating: bytes, as: UTF8.self) == nil { body(String(decoding: bytes, as: UTF8.self)) }
    }
  }

  /// Whether it has no entries, not even ones that are not UTF-8.
  package func isEmpty() throws(SystemError) -> Bool { try rawNames().isEmpty }

  /// Removes `name` and its contents without following links. Does nothing if it is already gone.
  package func removeTree(_ name: String) throws(SystemError) {
    guard let status = try status(of: name) else { return }
    if status.kind == .directory, let directory = try subdirectory(name) {
      try directory.walk { (directory, name, path, status) throws(SystemError) in
        try directory.remove(name, isDirectory: status.kind == .directory, path: path)
      }
    }
    try remove(name.cString, isDirectory: status.kind == .directory, path: path(of: name))
  }

  /// Makes all files and names in the tree durable.
  package func synchronizeTree() throws(SystemError) {
    try walk { (directory, name, path, status) throws(SystemError) in
      guard status.kind == .regular || status.kind == .directory else { return }
      try File.open(directory.descriptor, name, O_RDONLY | O_NOFOLLOW, path: path).synchronize()
    }
    try synchronize()
  }

  package func allocatedBytes() throws(SystemError) -> Int {
    var total = 0
    try walk { if $3.kind != .directory { total = total.addingClamped($3.allocatedBytes) } }
    return total
  }

  /// Calls `body` with everything below it, contents before their directory. Follows no link.
  private func walk(
    depth: Int = 1,
    _ body: (Directory, _ name: [CChar], _ path: String, _ status: FileStatus) throws(SystemError) -> Void
  ) throws(SystemError) {
    if depth > Self.greatestDepth { throw SystemError("openat", path, errno: ENAMETOOLONG) }
    for name in try rawNames() {
      let path = path(of: String(decodingCString: name))
      // Otherwise it was removed since it was listed.
      guard let status = try status(name, path: path) else { continue }
      if status.kind == .directory {
        let file = try allowing(ENOENT) { () throws(SystemError) in
          try File.open(descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, path: path)
        }
        guard let file else { continue }
        try Directory(file, path, status.identity).walk(depth: depth + 1, body)
      }
      try body(self, name, path, status)
    }
  }

  /// With their terminating NULs.
  private func rawNames() throws(SystemError) -> [[CChar]] {
    // A separate descriptor: each has a single position, and this object is shared by threads.
    let own = try call(.openat, path) { unsafe openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard let stream = unsafe fdopendir(own) else {
      let error = SystemError("fdopendir", path)
      _ = cplatform_close(own)
      throw error
    }
    defer { unsafe closedir(stream) }
    var names: [[CChar]] = []
    while true {
      errno = 0
      guard let entry = unsafe readdir(stream) else {
        if errno != 0 { throw SystemError("readdir", path) }
        return names
      }
      // The entry ends with its name and may be shorter than its type.
      guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { preconditionFailure("dirent has no name") }
      let start = unsafe (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)
      let name = unsafe [CChar](UnsafeBufferPointer(start: start, count: strlen(start) + 1))
      if name != [0x2E, 0] && name != [0x2E, 0x2E, 0] { names.append(name) }
    }
  }
}

extension String {
  fileprivate var cString: [CChar] { Array(utf8CString) }

  fileprivate init(decodingCString name: [CChar]) {
    self.init(decoding: name.dropLast().lazy.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

// The directory's volume and permissions.

extension Directory {
  /// Bytes that this user may still write to the volume.
  package func freeSpace() throws(SystemError) -> Int {
    var status = statvfs()
    _ = try call("fstatvfs", path) { unsafe fstatvfs(descriptor, &status) }
    let (bytes, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
    return overflow ? .max : Int(clamping: bytes)
  }

  package func status() throws(SystemError) -> FileStatus { try file.status() }

  /// - Throws: `EACCES` or `EROFS` if this user cannot create and remove files in it.
  package func checkWritable() throws(SystemError) {
    _ = try call("faccessat", path) { cplatform_is_writable(descriptor) }
  }

  package func isOwnedByUser() throws(SystemError) -> Bool { try status().owner == geteuid() }

  /// Whether other users may create files in it. (The sticky bit does not prevent that.)
  package func isWritableByOthers() throws(SystemError) -> Bool { try status().mode & (S_IWGRP | S_IWOTH) != 0 }

  package func isRemote() throws(SystemError) -> Bool {
    #if os(Linux)
      let type = try call("fstatfs", path) { cplatform_file_system(descriptor) }
      if Self.remoteMagic.contains(type) { return true }
      guard type == Self.fuse else { return false }
      // Only the list of mounts gives the kind. It is missing in a chroot without /proc, for example.
      guard let folder = try Directory(existing: "/proc/self"), let file = try folder.open("mountinfo") else {
        return false
      }
      let device = dev_t(truncatingIfNeeded: identity.device)
      return Self.isRemote(
        device: "\(Self.major(device)):\(Self.minor(device))", mountInfo: try file.readToEnd(limit: 16 << 20))
    #else
      var status = statfs()
      if unsafe fstatfs(descriptor, &status) != 0 { throw SystemError("fstatfs", path) }
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

  package static func variable(_ name: String) -> String? { unsafe getenv(name).map { unsafe String(cString: $0) } }

  /// The specification ignores relative paths.
  private static func absolutePath(_ path: String?) -> String? { path.flatMap { $0.hasPrefix("/") ? $0 : nil } }

  private static var registeredHome: String? {
    var entry = unsafe passwd()
    var found: UnsafeMutablePointer<passwd>?
    var buffer = [CChar](repeating: 0, count: 16_384)
    // The entry points into the buffer.
    return unsafe buffer.withUnsafeMutableBufferPointer { buffer in
      let status = unsafe getpwuid_r(getuid(), &entry, buffer.baseAddress!, buffer.count, &found)
      return unsafe status == 0 && found != nil ? entry.pw_dir.map { unsafe String(cString: $0) } : nil
    }
  }
}
