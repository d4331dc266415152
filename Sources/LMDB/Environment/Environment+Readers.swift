import CLMDB

extension Environment {
  /// A slot of the reader table with a snapshot that is open, of any process.
  public struct Reader: Sendable, Equatable {
    public var process: Int32
    /// The last transaction that the snapshot sees. What later ones free is not used again before it ends.
    public var transactionID: UInt64
  }

  /// The snapshots that are open now, of all processes (`mdb_reader_list`); those of dead ones, too, until
  /// ``checkReaders()``.
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

  /// What LMDB prints: a head, then a line for each slot with the process, the thread and the transaction, "-" for none.
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
