import Platform

/// A data file that is open for reading, by pread(2) alone: what is wrong with it cannot raise a signal.
struct DataFile: ~Copyable {
  private let file: File
  /// Bytes, when it was opened, or looked at last.
  private(set) var size: Int

  /// Opens the file of a directory; `nil` if there is no such file, or no such directory.
  ///
  /// - Throws: `.foreignFile` for a link, a FIFO and whatever else is no regular file.
  init?(_ name: String, in path: String) throws(LMDBError) {
    guard let directory = try system({ () throws(SystemError) in try Directory(existing: path) }) else { return nil }
    try self.init(name, in: directory)
  }

  /// The same for a directory that is open.
  init?(_ name: String, in directory: Directory) throws(LMDBError) {
    guard let file = try system({ () throws(SystemError) in try directory.open(name) }) else { return nil }
    size = try system { () throws(SystemError) in try file.status().size }
    self.file = file
  }

  var identity: FileIdentity {
    get throws(LMDBError) { try system { () throws(SystemError) in try file.identity() } }
  }

  /// Looks how long it is now.
  mutating func noteSize() throws(LMDBError) {
    size = try system { () throws(SystemError) in try file.status().size }
  }

  /// Has the kernel read the file ahead, where it is small enough to be worth it.
  borrowing func readAhead() {
    #if os(Linux)
      // Advice: nothing depends on it.
      if size <= 256 << 20 { _ = posix_fadvise(file.descriptor, 0, 0, POSIX_FADV_WILLNEED) }
    #endif
  }

  /// Fills `buffer` from `offset` on; `false` if the file ends before.
  borrowing func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws(LMDBError) -> Bool {
    do throws(SystemError) { return try file.read(buffer, at: offset) } catch { throw LMDBError(error) }
  }
}
