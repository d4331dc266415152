extension UnsafeMutableRawBufferPointer {
  /// Memory for as many bytes as a file says that something has. (`allocate` ends the process where there is none.)
  ///
  /// - Parameter path: The file's.
  /// - Returns: Uninitialized memory that is aligned to 16 bytes, to be released with `free`.
  /// - Throws: `ENOMEM`.
  package static func allocated(byteCount: Int, for path: String) throws(SystemError) -> Self {
    guard let memory = malloc(Swift.max(1, byteCount)) else { throw SystemError("malloc", path, errno: ENOMEM) }
    return Self(start: memory, count: byteCount)
  }
}
