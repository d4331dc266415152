import CPlatform

/// How the whole module opens, inspects and closes descriptors.
enum Descriptors {
  /// The only open call: never follows a link at the end of the name, sets close-on-exec, and retries after signals.
  ///
  /// - Parameter checksName: Whether `name` must be a file's name in the directory. Links within a path are followed.
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

  /// Throws unless `name` is a plain file name.
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

  /// close(2). The descriptor is closed even after EINTR. Other failures concern earlier writes, which are reported by
  /// synchronizing.
  static func close(_ descriptor: Int32) { _ = cplatform_close(descriptor) }
}
