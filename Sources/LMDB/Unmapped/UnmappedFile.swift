package import Platform

/// A data file that is read by pread(2) alone, whoever may be writing to it: without a map, a lock or a place in the table
/// of readers, so that nothing of it or beside it changes, and nothing that is wrong with it can raise a signal.
///
/// LMDB writes a page nowhere but where no page is that the last committed state uses, nor the one before it: a
/// transaction takes the pages that were freed before the last one, and the file's end. So what was read of a state is
/// what it consists of, if at most one transaction was committed since. Where there were more, it is read again: see
/// ``read(_:)``.
///
/// One thread at a time.
package final class UnmappedFile {
  private var file: DataFile
  /// Which file it is, whatever has its name now.
  package let identity: FileIdentity

  /// How often a state is read that has passed before it was read.
  private static let greatestAttempts = 10_000
  /// How often the same damage has to be found in a state that has not passed.
  private static let confirmations = 3

  private init(_ file: consuming DataFile) throws(LMDBError) {
    identity = try file.identity
    self.file = file
  }

  /// Opens `data.mdb` of a directory. Returns `nil` if there is none, or an empty one, which LMDB takes for a new one.
  package static func open(_ directory: Directory) throws(DataFileError) -> UnmappedFile? {
    do throws(LMDBError) {
      guard let file = try DataFile(OpenFiles.dataFile, in: directory), file.size > 0 else { return nil }
      return try UnmappedFile(file)
    } catch {
      throw .unreadable(error)
    }
  }

  /// The number of the last committed transaction.
  package func lastTransactionID() throws(DataFileError) -> UInt64 { try newestMeta().transactionID }

  /// Runs `body` with the last committed state, as often as it takes: what it returns, or throws, counts only if the state
  /// was still whole when it ended. It should take a shorter way the more often it was tried: see
  /// ``UnmappedSnapshot/attempt``.
  ///
  /// - Throws: what `body` throws; `.unreadable` with `.busy` if others commit faster than it can be read.
  package func read<R>(_ body: (UnmappedSnapshot) throws(DataFileError) -> R) throws(DataFileError) -> R {
    var attempt = 0
    var last: (failure: DataFileError, count: Int)?
    while true {
      let meta = try newestMeta()
      try noteSize()
      let result: Result<R, DataFileError>
      do throws(DataFileError) {
        result = .success(try body(UnmappedSnapshot(self, meta, size: file.size, attempt: attempt)))
      } catch {
        result = .failure(error)
      }
      attempt += 1
      if try isStillWhole(meta) {
        guard case .failure(let failure) = result else { return try result.get() }
        last = (failure, failure == last?.failure ? last!.count + 1 : 1)
        if last!.count >= Self.confirmations { throw failure }
      }
      if attempt >= Self.greatestAttempts { throw Self.tooFast }
    }
  }

  private static var tooFast: DataFileError {
    .unreadable(
      LMDBError(
        code: .busy, operation: "UnmappedFile.read",
        message: "Other processes commit faster than the file can be read. Try again when they write less."))
  }

  // MARK: - The state

  private func newestMeta() throws(DataFileError) -> MetaPage {
    try DataFileVerifier.settled { () throws(DataFileError) in
      try noteSize()
      return try DataFileVerifier.newestMeta(of: file)
    }
  }

  private func noteSize() throws(DataFileError) {
    do throws(LMDBError) { try file.noteSize() } catch { throw .unreadable(error) }
  }

  /// Whether nobody can have written over a page of a state: at most one transaction was committed since, and the next but
  /// one has not begun to announce itself in its meta page.
  private func isStillWhole(_ meta: MetaPage) throws(DataFileError) -> Bool {
    let newest = try newestMeta()
    if newest.transactionID > meta.transactionID + 1 || newest.transactionID < meta.transactionID { return false }
    if newest.transactionID == meta.transactionID { return newest == meta }
    return try DataFileVerifier.meta(meta.number, at: Int(meta.number) * Int(meta.pageSize), of: file) == meta
  }

  // MARK: - Pages

  /// Fills `buffer` from `offset` on.
  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int, page: UInt64) throws(DataFileError) {
    let isWhole: Bool
    do throws(LMDBError) { isWhole = try file.read(buffer, at: offset) } catch { throw .unreadable(error) }
    if !isWhole { throw .finding(DataFileFinding(.truncated, page: page, "the file became shorter")) }
  }
}
