import CPlatform

extension File {
  // MARK: - Reading

  /// Fills `bytes` from `offset`; `false` if the file ends before.
  package borrowing func read(
    _ bytes: UnsafeMutableRawBufferPointer, at offset: Int = 0
  ) throws(SystemError) -> Bool {
    try readPart(bytes, at: offset) == bytes.count
  }

  package borrowing func read(_ bytes: inout [UInt8], at offset: Int = 0) throws(SystemError) -> Bool {
    let count = bytes.count
    return try bytes.withUnsafeMutableBytes { bytes -> Result<Int, SystemError> in
      do throws(SystemError) { return .success(try readPart(bytes, at: offset)) } catch { return .failure(error) }
    }.get() == count
  }

  /// Reads up to `bytes.count` bytes from `offset`. Returns how many.
  package borrowing func readPart(
    _ bytes: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(SystemError) -> Int {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[done...])
      let count = SystemCalls.read(descriptor, rest, offset + done, path: path)
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemError("pread", path)
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Reads the whole file, ignoring its reported size, which is 0 in /proc.
  ///
  /// - Parameter limit: Bytes. Throws an error with a finding for a longer file.
  package borrowing func readToEnd(limit: Int) throws(SystemError) -> [UInt8] {
    var contents: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = try part.withUnsafeMutableBytes { part -> Result<Int, SystemError> in
        do throws(SystemError) {
          return .success(try readPart(part, at: contents.count))
        } catch { return .failure(error) }
      }.get()
      if count > limit - contents.count { throw SystemError("pread", path, .tooLarge(limit: limit)) }
      contents += part[..<count]
      if count < part.count { return contents }
    }
  }

  // MARK: - Writing

  /// Writes all bytes. A failure may leave a part of them.
  ///
  /// - Parameter offset: `nil` to continue after the last write without an offset.
  package borrowing func write(_ bytes: UnsafeRawBufferPointer, at offset: Int? = nil) throws(SystemError) {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let count = SystemCalls.write(descriptor, rest, offset.map { $0 + done }, path: path)
      if count < 0 {
        if errno == EINTR { continue }
        throw SystemError(offset == nil ? "write" : "pwrite", path)
      }
      // Does not happen for regular files; without this check it would loop forever.
      if count == 0 { throw SystemError(offset == nil ? "write" : "pwrite", path, errno: ENOSPC) }
      done += count
    }
  }

  /// Writes two adjacent buffers, in one call if possible.
  package borrowing func write(
    _ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer, at offset: Int
  ) throws(SystemError) {
    var done: Int
    repeat {
      done = SystemCalls.write(descriptor, first, second, offset, path: path)
    } while done < 0 && errno == EINTR
    if done < 0 { throw SystemError("pwritev", path) }
    if done < first.count {
      try write(UnsafeRawBufferPointer(rebasing: first[done...]), at: offset + done)
      done = first.count
    }
    if done - first.count < second.count {
      try write(UnsafeRawBufferPointer(rebasing: second[(done - first.count)...]), at: offset + done)
    }
  }

  package borrowing func write(_ bytes: [UInt8], at offset: Int? = nil) throws(SystemError) {
    try bytes.withUnsafeBytes { bytes -> Result<Void, SystemError> in
      do throws(SystemError) { return .success(try write(bytes, at: offset)) } catch { return .failure(error) }
    }.get()
  }

  /// Copies a range of a file to the same place in this one. Bytes past the other file's end become zeros.
  package borrowing func write(_ range: Range<Int>, of other: borrowing File) throws(SystemError) {
    var offset = range.lowerBound
    while offset < range.upperBound {
      var part = [UInt8](repeating: 0, count: min(range.upperBound - offset, 1 << 20))
      _ = try other.read(&part, at: offset)
      try write(part, at: offset)
      offset += part.count
    }
  }

  /// Fills this empty file with the contents of another one, keeping holes.
  package borrowing func writeSparsely(_ other: borrowing File) throws(SystemError) {
    let size = try other.status().size
    var offset = 0
    while offset < size {
      let data = Int(cplatform_seek(other.descriptor, Int64(offset), 0))
      if data < 0, currentErrno() == ENXIO { break }
      // If the file system does not report holes, everything is data.
      let start = max(data, offset)
      let hole = Int(cplatform_seek(other.descriptor, Int64(start), 1))
      offset = hole < start ? size : min(hole, size)
      if start >= offset { break }
      try write(start..<offset, of: other)
    }
    try truncate(to: size)
  }
}
