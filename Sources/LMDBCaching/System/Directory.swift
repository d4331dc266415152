import CPlatform
import LMDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// Directory operations of the operating system, each status checked.
enum Directory {
  /// Makes `path` and what is missing above it.
  ///
  /// - Parameter synchronized: Whether a new directory has to be there after a power cut.
  static func create(_ path: String, synchronized: Bool = false) throws(SystemError) {
    if mkdir(path, 0o700) == 0 {
      if synchronized { try synchronizeParent(of: path) }
      return
    }
    switch errno {
    case EEXIST:
      var status = stat()
      if stat(path, &status) != 0 { throw SystemError("stat", path) }
      if status.st_mode & S_IFMT != S_IFDIR { throw SystemError("mkdir", path, errno: ENOTDIR) }
    case ENOENT:
      guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { throw SystemError("mkdir", path) }
      try create(String(path[..<slash]), synchronized: synchronized)
      try create(path, synchronized: synchronized)
    default:
      throw SystemError("mkdir", path)
    }
  }

  /// The names in `path` without `.` and `..`; empty when there is no such directory.
  static func names(in path: String) throws(SystemError) -> [String] {
    guard let directory = opendir(path) else {
      if errno == ENOENT { return [] }
      throw SystemError("opendir", path)
    }
    defer { closedir(directory) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(directory) else {
        if errno != 0 { throw SystemError("readdir", path) }
        return names
      }
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != "." && name != ".." { names.append(name) }
    }
  }

  /// Removes the name `path`; one that is gone already is fine.
  static func removeFile(_ path: String) throws(SystemError) {
    if unlink(path) != 0 && errno != ENOENT { throw SystemError("unlink", path) }
  }

  /// Removes a directory and all that is in it; links are removed, and not followed.
  static func removeTree(_ path: String) throws(SystemError) {
    for name in try names(in: path) {
      let child = path + "/" + name
      var status = stat()
      if lstat(child, &status) != 0 { continue }  // Gone since it was listed.
      if status.st_mode & S_IFMT == S_IFDIR { try removeTree(child) } else { try removeFile(child) }
    }
    if rmdir(path) != 0 && errno != ENOENT { throw SystemError("rmdir", path) }
  }

  static func move(_ source: String, to destination: String) throws(SystemError) {
    if rename(source, destination) != 0 { throw SystemError("rename", destination) }
  }

  /// What `path` leads to; nil: nothing.
  static func identity(of path: String) throws(SystemError) -> FileIdentity? {
    var status = stat()
    if stat(path, &status) == 0 { return FileIdentity(status) }
    if errno == ENOENT || errno == ENOTDIR { return nil }
    throw SystemError("stat", path)
  }

  /// Bytes of the file at `path`; nil: there is none.
  static func size(of path: String) throws(SystemError) -> Int? {
    var status = stat()
    if stat(path, &status) == 0 { return Int(status.st_size) }
    if errno == ENOENT || errno == ENOTDIR { return nil }
    throw SystemError("stat", path)
  }

  static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// Makes the name of a new directory durable. One that may be entered and not read cannot be synchronized; it is
  /// then with the file system to keep the order.
  private static func synchronizeParent(of path: String) throws(SystemError) {
    var end = path.endIndex
    while end > path.startIndex, path[path.index(before: end)] == "/" { end = path.index(before: end) }
    let parent = path[..<end].lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    do throws(SystemError) {
      try synchronize(parent)
    } catch {
      if error.errno != EACCES { throw error }
    }
  }

  /// Makes renames and removals in `path` durable; there may be no such directory.
  static func synchronizeIfPresent(_ path: String) throws(SystemError) {
    do throws(SystemError) {
      try synchronize(path)
    } catch {
      if error.errno != ENOENT { throw error }
    }
  }

  /// Makes everything on the volume of `path` durable.
  static func synchronizeVolume(of path: String) throws(SystemError) {
    let directory = try File(path, flags: O_RDONLY | O_DIRECTORY)
    #if os(Linux)
      if syncfs(directory.descriptor) != 0 { throw SystemError("syncfs", path) }
    #else
      sync()
    #endif
  }

  /// Makes renames and removals in `path` durable.
  static func synchronize(_ path: String) throws(SystemError) {
    let directory = try File(path, flags: O_RDONLY | O_DIRECTORY)
    try directory.synchronize()
  }

  /// Absolute, without symbolic links, `.`, `..` or a trailing slash.
  static func canonicalPath(_ path: String) throws(SystemError) -> String {
    guard let resolved = realpath(path, nil) else { throw SystemError("realpath", path) }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Bytes that this user may still write to the volume of `path`.
  static func freeSpace(at path: String) throws(SystemError) -> Int {
    var status = statvfs()
    if statvfs(path, &status) != 0 { throw SystemError("statvfs", path) }
    return Int(clamping: UInt64(status.f_bavail) &* UInt64(status.f_frsize))
  }

  /// Bytes that the files of `path` occupy on the disk.
  static func allocatedBytes(in path: String) throws(SystemError) -> Int {
    var total = 0
    for name in try names(in: path) {
      var status = stat()
      if lstat(path + "/" + name, &status) != 0 { continue }  // Gone since it was listed.
      if status.st_mode & S_IFMT == S_IFDIR {
        total += try allocatedBytes(in: path + "/" + name)
      } else {
        total += Int(status.st_blocks) * 512
      }
    }
    return total
  }

  /// Whether `path` is on a file system of another machine.
  static func isRemote(_ path: String) throws(SystemError) -> Bool {
    #if os(Linux)
      var status = stat()
      if stat(path, &status) != 0 { throw SystemError("stat", path) }
      let device = "\(major(status.st_dev)):\(minor(status.st_dev))"
      // See `isRemote(device:mountInfo:)`. proc(5): ID, parent, major:minor, root, mount point, options, optional fields, "-", type, …
      return isRemote(device: device, mountInfo: try File("/proc/self/mountinfo", flags: O_RDONLY).readToEnd())
    #else
      var status = statfs()
      if statfs(path, &status) != 0 { throw SystemError("statfs", path) }
      return status.f_flags & UInt32(MNT_LOCAL) == 0
    #endif
  }

  #if os(Linux)
    /// Whether the file system of a device, as `major:minor`, is one of another machine, by the kernel's list of mounts.
    static func isRemote(device: String, mountInfo: [UInt8]) -> Bool {
      for line in mountInfo.split(separator: UInt8(ascii: "\n")) {
        let fields = line.split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard fields.count > 4, fields[2] == device, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
        else { continue }
        return remoteTypes.contains(fields[dash + 1])
      }
      return false
    }

    // makedev(3)'s macros, which Swift cannot import.
    private static func major(_ device: dev_t) -> dev_t { (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF }
    private static func minor(_ device: dev_t) -> dev_t { device & 0xFF | (device >> 12) & ~0xFF }
  #endif

  private static let remoteTypes: Set = [
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "ceph", "afs", "coda", "glusterfs", "lustre", "gfs2", "ocfs2",
    "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.s3fs", "fuse.rclone", "virtiofs",
  ]
}
