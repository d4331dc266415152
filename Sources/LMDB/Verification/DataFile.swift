import Platform

/// A data file opened for pread(2) only, so that no damage can raise a signal.
struct DataFile: ~Copyable {
  private let file: File
  /// Size in bytes, when opened or last updated.
  private(set) var size: Int

  /// Opens a file in a directory; `nil` if either does not exist.
  ///
  /// - Throws: `.foreignFile` for anything except a regular file, such as a link or a FIFO.
  init?(_ name: String, in path: String) throws(LMDBError) {
    guard let directory = try system({ () throws(SystemError) in try Directory(existing: path) }) else { return nil }
    try self.init(name, in: directory)
  }

  /// Opens a file in an open directory; `nil` if it does not exist.
  init?(_ name: String, in directory: Directory) throws(LMDBError) {
    guard let file = try system({ () throws(SystemError) in try directory.open(name) }) else { return nil }
    size = try system { () throws(SystemError) in try file.status().size }
    self.file = file
  }

  var identity: FileIdentity {
    get throws(LMDBError) { try system { () throws(SystemError) in try file.identity() } }
  }

  /// Updates the size.
  mutating func noteSize() throws(LMDBError) {
    size = try system { () throws(SystemError) in try file.status().size }
  }

  /// Asks the kernel to read the file ahead if it is small enough.
  borrowing func readAhead() {
    #if os(Linux)
      // Only advice: the result does not matter.
      if size <= 256 << 20 { _ = posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_WILLNEED) }
    #endif
  }

  /// Fills `buffer` from `offset`; `false` if the file ends before.
  borrowing func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(LMDBError) -> Bool {
    do throws(SystemError) { return try file.read(buffer, at: offset) } catch { throw LMDBError(error) }
  }
}
