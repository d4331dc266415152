#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The directory of a garage.
enum StoreDirectory {
  /// Makes a directory for this user alone, and what is missing above it.
  static func make(_ path: String) throws(SystemFailure) {
    if mkdir(path, 0o700) == 0 { return }
    switch errno {
    case EEXIST:
      var status = stat()
      guard stat(path, &status) == 0 else { throw SystemFailure("stat", path) }
      guard status.st_mode & S_IFMT == S_IFDIR else { throw SystemFailure("mkdir", path, errno: ENOTDIR) }
    case ENOENT:
      guard let parent = parent(of: path), parent != path else { throw SystemFailure("mkdir", path) }
      try make(parent)
      try make(path)
    default: throw SystemFailure("mkdir", path)
    }
  }

  /// Makes the entries of a directory durable, and those that lead to it from the top of its file system.
  ///
  /// All of them, since whoever made one of them may have died before it was on the disk.
  static func synchronize(_ path: String) throws(SystemFailure) {
    var path = path
    var device: dev_t?
    while true {
      do throws(SystemFailure) {
        let directory = try OwnFile.open(directory: path)
        let status = try directory.status()
        guard device == nil || device == status.st_dev else { return }
        device = status.st_dev
        try directory.synchronize()
      } catch {
        // One that may be entered and not read cannot be synchronized, nor can those of some file systems, which have to
        // keep the order by themselves.
        guard [EACCES, EINVAL, EROFS].contains(error.errno) else { throw error }
      }
      guard let parent = parent(of: path), parent != path else { return }
      path = parent
    }
  }

  /// Returns `nil` for a relative path of one name.
  private static func parent(of path: String) -> String? {
    var end = path.endIndex
    while end > path.startIndex, path[path.index(before: end)] == "/" { end = path.index(before: end) }
    guard let slash = path[..<end].lastIndex(of: "/") else { return nil }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Absolute, without symbolic links, `.` and `..`.
  static func canonicalPath(_ path: String) throws(SystemFailure) -> String {
    guard let resolved = realpath(path, nil) else { throw SystemFailure("realpath", path) }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// The names in a directory, without `.` and `..`.
  static func names(in path: String) throws(SystemFailure) -> Set<String> {
    guard let directory = opendir(path) else { throw SystemFailure("opendir", path) }
    defer { closedir(directory) }
    var names: Set<String> = []
    while true {
      errno = 0
      guard let entry = readdir(directory) else {
        guard errno == 0 else { throw SystemFailure("readdir", path) }
        return names.subtracting([".", ".."])
      }
      withUnsafePointer(to: &entry.pointee.d_name) { name in
        _ = name.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: name.pointee)) {
          names.insert(String(cString: $0))
        }
      }
    }
  }

  /// Refuses what is not a regular file: a link, above all.
  ///
  /// - Throws: `ELOOP` for a link, `EINVAL` for anything else.
  static func checkIsRegular(_ path: String) throws(SystemFailure) {
    var status = stat()
    guard lstat(path, &status) == 0 else { throw SystemFailure("lstat", path) }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return
    case S_IFLNK: throw SystemFailure("lstat", path, errno: ELOOP)
    default: throw SystemFailure("lstat", path, errno: EINVAL)
    }
  }

  /// Waits for a lock.
  ///
  /// - Parameter seconds: How long.
  /// - Returns: Whether it was had in time.
  static func wait(seconds: Int, _ tryLock: () throws(SystemFailure) -> Bool) throws(SystemFailure) -> Bool {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while try !tryLock() {
      guard ContinuousClock.now < deadline else { return false }
      usleep(1_000)
    }
    return true
  }
}
