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
