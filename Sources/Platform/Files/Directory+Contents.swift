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
