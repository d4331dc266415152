package import Platform

/// A data file read by pread(2) alone while others may write: without a map, a lock or a reader slot, so that nothing
/// on disk changes and no damage can raise a signal.
///
/// LMDB never overwrites a page of the last committed state or the one before: a transaction uses pages freed before
/// the last one, and the end of the file. A state that was read is therefore consistent if at most one transaction
/// committed since. Otherwise ``read(_:)`` reads again.
///
/// One thread at a time.
package final class UnmappedFile {
  private var file: DataFile
  /// The identity of the open file, even if its name now leads elsewhere.
  package let identity: FileIdentity

  /// The most attempts to read a state that writers keep overtaking.
  private static let greatestAttempts = 10_000
  /// How often the same damage must be found in a state that is still current.
  private static let confirmations = 3

  private init(_ file: consuming DataFile) throws(LMDBError) {
    identity = try file.identity
    self.file = file
  }

  /// Opens a directory's `data.mdb`. Returns `nil` if it is missing or empty; LMDB treats an empty file as new.
  package static func open(_ directory: Directory) throws(DataFileError) -> UnmappedFile? {
    do throws(LMDBError) {
      guard let file = try DataFile(OpenFiles.dataFile, in: directory), file.size > 0 else { return nil }
      return try UnmappedFile(file)
    } catch {
      throw .unreadable(error)
    }
  }

  package func lastTransactionID() throws(DataFileError) -> UInt64 { try newestMeta().transactionID }

  /// Runs `body` with the last committed state until the state was still whole when `body` ended; only that run's
  /// result or error counts. `body` should do less work as ``UnmappedSnapshot/attempt`` grows.
  ///
  /// - Throws: The error of `body`; `.unreadable` with `.busy` if others commit faster than the state can be read.
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

  /// Whether no page of a state can have been overwritten: at most one transaction committed since, and the next but
  /// one has not begun to write its meta page, which is this state's.
  private func isStillWhole(_ meta: MetaPage) throws(DataFileError) -> Bool {
    let newest = try newestMeta()
    if newest.transactionID > meta.transactionID + 1 || newest.transactionID < meta.transactionID { return false }
    if newest.transactionID == meta.transactionID { return newest == meta }
    return try DataFileVerifier.meta(meta.number, at: Int(meta.number) * Int(meta.pageSize), of: file) == meta
  }

  // MARK: - Pages

  func read(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int, page: UInt64) throws(DataFileError) {
    let isWhole: Bool
    do throws(LMDBError) { isWhole = try file.read(buffer, at: offset) } catch { throw .unreadable(error) }
    if !isWhole { throw .finding(DataFileFinding(.truncated, page: page, "the file became shorter")) }
  }
}
