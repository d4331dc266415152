extension UnsafeMutableRawBufferPointer {
  /// Allocates memory for a size that a file claims; `allocate` would end the process on failure.
  ///
  /// - Parameter path: The file's path.
  /// - Returns: Uninitialized memory aligned to 16 bytes, to be released with `free`.
  /// - Throws: `ENOMEM`.
  package static func allocated(byteCount: Int, for path: String) throws(SystemError) -> Self {
    guard let memory = malloc(Swift.max(1, byteCount)) else { throw SystemError("malloc", path, errno: ENOMEM) }
    return Self(start: memory, count: byteCount)
  }
}
