// What goes by paths, and not by names in an open directory: finding and making the directory itself.

extension Directory {
  /// `realpath(3)`: absolute, without links, `.`, `..` or a trailing slash.
  package static func canonicalPath(_ path: String) throws(SystemError) -> String {
    guard !path.utf8.contains(0) else { throw SystemError("realpath", path, .name) }
    guard let resolved = realpath(path, nil) else { throw SystemError("realpath", path) }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// What a path leads to, links followed; `nil` if nothing.
  package static func identity(ofPath path: String) throws(SystemError) -> FileIdentity? {
    guard !path.utf8.contains(0) else { throw SystemError("stat", path, .name) }
    var status = stat()
    if stat(path, &status) == 0 { return FileIdentity(status) }
    if errno == ENOENT || errno == ENOTDIR { return nil }
    throw SystemError("stat", path)
  }

  /// Makes `path` and what is missing above it.
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
      // Made by another process meanwhile, or a path that ends in "..": opening it tells.
      if SystemCalls.makeDirectory(AT_FDCWD, path, path: path) != 0 {
        if errno == EEXIST { return }
        throw SystemError("mkdir", path)
      }
      if synchronized { try synchronizeParent(of: path) }
    default:
      throw SystemError("mkdir", path)
    }
  }

  /// Makes the names in it durable, and those that lead to it from the top of its volume: whoever made one of them may
  /// have died before it was on the disk.
  package func synchronizePath() throws(SystemError) {
    var next: String? = path
    while let path = next {
      do throws(SystemError) {
        let directory = try Directory(path: path)
        guard directory.identity.device == identity.device else { return }
        try directory.synchronize()
      } catch {
        // One that may be entered and not read cannot be synchronized, nor can those of some file systems, which have to
        // keep the order by themselves.
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

  /// Makes the name of a new directory durable. One that may be entered and not read cannot be synchronized; it is
  /// then with the file system to keep the order.
  private static func synchronizeParent(of path: String) throws(SystemError) {
    do throws(SystemError) {
      try Directory(path: parent(of: path) ?? ".").synchronize()
    } catch {
      if error.errno != EACCES { throw error }
    }
  }
}
