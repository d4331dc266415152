import CLMDB

extension Environment {
  /// A reader table slot with an open snapshot, of any process.
  public struct Reader: Sendable, Equatable {
    public var process: Int32
    /// The last transaction visible to the snapshot. Pages that later ones free are not reused until it ends.
    public var transactionID: UInt64
  }

  /// All open snapshots of all processes (`mdb_reader_list`), including dead ones until ``checkReaders()``.
  public func readers() throws(LMDBError) -> [Reader] {
    try use("Environment.readers") { () throws(LMDBError) in
      let lines = ReaderLines()
      let status = Calls.listReaders(
        handle,
        { line, lines in
          guard let line, let lines else { return 0 }
          Unmanaged<ReaderLines>.fromOpaque(lines).takeUnretainedValue().text += String(cString: line)
          return 0
        }, Unmanaged.passUnretained(lines).toOpaque())
      guard status >= 0 else { throw LMDBError(status: status, operation: .readerList) }
      return withExtendedLifetime(lines) { lines.readers }
    }
  }

  /// LMDB's output: a header, then a line per slot with the process, the thread and the transaction ("-" for none).
  private final class ReaderLines {
    var text = ""

    var readers: [Reader] {
      text.split(separator: "\n").compactMap { line in
        let words = line.split(separator: " ")
        guard words.count == 3, let process = Int32(words[0]), let id = UInt64(words[2]) else { return nil }
        return Reader(process: process, transactionID: id)
      }
    }
  }
}
