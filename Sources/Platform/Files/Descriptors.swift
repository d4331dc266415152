import CPlatform

/// Descriptors as the whole module opens, looks at and closes them.
enum Descriptors {
  /// The one open call: never follows a link at the end of the name, sets close-on-exec, and retries when a signal
  /// interrupts it.
  ///
  /// - Parameter checksName: Whether `name` has to be that of a file in the directory. Links in a path are followed.
  static func open(
    _ directory: Int32, _ name: String, _ flags: Int32, mode: mode_t = 0, path: String, checksName: Bool = true
  ) throws(SystemError) -> Int32 {
    var flags = flags | O_CLOEXEC | O_NOCTTY
    if checksName {
      try checkName(name, "openat")
      flags |= O_NOFOLLOW
    } else if name.utf8.contains(0) {
      throw SystemError("openat", path, .name)
    }
    while true {
      let descriptor = SystemCalls.open(directory, name, flags, mode, path: path)
      if descriptor >= 0 { return descriptor }
      if errno != EINTR { throw SystemError("openat", path) }
    }
  }

  /// Throws unless `name` can only be that of a file in a directory.
  static func checkName(_ name: String, _ operation: String) throws(SystemError) {
    let bytes = name.utf8
    if bytes.isEmpty || name == "." || name == ".." || bytes.contains(UInt8(ascii: "/")) || bytes.contains(0) {
      throw SystemError(operation, name, .name)
    }
  }

  static func status(_ descriptor: Int32, path: String) throws(SystemError) -> stat {
    var result = stat()
    if SystemCalls.status(descriptor, &result, path: path) != 0 { throw SystemError("fstat", path) }
    return result
  }

  /// close(2). Where it reports EINTR, the descriptor is closed nonetheless; other failures say what was written to the
  /// file before, which who cares has synchronized.
  static func close(_ descriptor: Int32) { _ = cplatform_close(descriptor) }
}
