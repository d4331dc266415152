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
