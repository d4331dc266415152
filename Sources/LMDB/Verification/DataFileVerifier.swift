import Platform

/// Reads an LMDB 0.9 data file on disk and decides whether LMDB can safely open it.
///
/// LMDB checks almost nothing: a page past the end of the file is a SIGBUS, a damaged branch page an `abort()`, a page
/// size of zero a SIGFPE, and a damaged leaf a wrong value. This verifier uses pread(2) and trusts no number, so that
/// no file can crash it. It follows everything that LMDB follows: both meta pages, the trees of the free list, the main
/// and named databases, the first page of every large value, and the list of free pages. It does not look at the
/// contents of values.
///
/// Memory: one bit per page, and one page per tree level. Time: every page is read at most once.
///
/// The caller must ensure that no process writes during the verification. The format is mdb.c's, in this machine's byte
/// order.
package enum DataFileVerifier {
  /// Verifies a directory's `data.mdb`.
  ///
  /// - Returns: `nil` if the file is missing or empty; LMDB treats an empty file as new.
  /// - Throws: ``DataFileError``: the first damage found, or the reason why the file could not be read.
  package static func verify(directory: String) throws(DataFileError) -> VerifiedDataFile? {
    try verify(directory: directory) { _, _ in }
  }

  /// Verifies `data.mdb` and calls `visit` with each entry of the main database in key order. Key and value are valid
  /// until it returns.
  package static func verify(directory: String, visit: @escaping DataFileWalk.Visit) throws(DataFileError)
    -> VerifiedDataFile?
  {
    guard let file = try open(directory), file.size > 0 else { return nil }
    let meta = try newestMeta(of: file)
    file.readAhead()
    return try DataFileWalk(file, meta, visit).run()
  }

  /// Looks at the meta pages only.
  ///
  /// - Returns: Whether all pages are in the file, and the last transaction; `nil` if the file is missing or empty.
  ///   Free pages at the end may be missing, so only ``verify(directory:)`` decides when pages are.
  package static func checkMeta(
    directory: String
  ) throws(DataFileError) -> (isWhole: Bool, transactionID: UInt64)? {
    guard let file = try open(directory), file.size > 0 else { return nil }
    let meta = try newestMeta(of: file)
    return (UInt64(file.size) / UInt64(meta.pageSize) > meta.lastPage, meta.transactionID)
  }

  private static func open(_ directory: String) throws(DataFileError) -> DataFile? {
    do throws(LMDBError) { return try DataFile("data.mdb", in: directory) } catch { throw .unreadable(error) }
  }

  /// Checks both meta pages and returns the one with the later transaction, which LMDB would use.
  static func newestMeta(of file: borrowing DataFile) throws(DataFileError) -> MetaPage {
    let first = try meta(0, at: 0, of: file)
    if first.magic == MetaPage.magic, first.version == MetaPage.version {
      try first.check(at: 0, fileSize: file.size)
    } else {
      // The other page distinguishes a damaged file from one that is no database, but only the first gives its offset.
      if let other = try likelySecondMeta(of: file), other.version == first.version || first.magic != MetaPage.magic {
        let kind: DataFileFinding.Kind = other.version == MetaPage.version ? .meta : .version
        throw .finding(DataFileFinding(kind, page: 0, "the first meta page is not one of LMDB's version 1"))
      }
      try first.check(at: 0, fileSize: file.size)
    }
    let second = try meta(1, at: Int(first.pageSize), of: file)
    try second.check(at: 1, fileSize: file.size)
    guard first.pageSize == second.pageSize else {
      throw .finding(
        DataFileFinding(.pageSize, page: 1, "the page size is \(second.pageSize), and \(first.pageSize) in page 0"))
    }
    let newest = first.transactionID < second.transactionID ? second : first
    let gap = max(first.transactionID, second.transactionID) - min(first.transactionID, second.transactionID)
    // Every commit overwrites the older page, after it has made the newer one durable.
    guard gap == 1 || newest.transactionID == 0 else {
      throw .finding(
        DataFileFinding(
          .meta, page: newest.transactionID & 1 == 0 ? 1 : 0,
          "transactions \(first.transactionID) and \(second.transactionID) do not follow each other"))
    }
    return newest
  }

  static func meta(
    _ number: UInt64, at offset: Int, of file: borrowing DataFile
  ) throws(DataFileError) -> MetaPage {
    var meta: MetaPage?
    do throws(LMDBError) {
      var bytes = [UInt8](repeating: 0, count: MetaPage.length)
      meta = try bytes.withMutableBytes { (bytes) throws(LMDBError) in
        try file.read(bytes, at: offset) ? MetaPage(UnsafeRawPointer(bytes.baseAddress!)) : nil
      }
    } catch {
      throw .unreadable(error)
    }
    guard let meta else {
      throw .finding(
        DataFileFinding(
          number == 0 ? .notDatabase : .truncated, page: number, "the file ends in it, after \(file.size) bytes"))
    }
    return meta
  }

  /// The second meta page, if found at any page size that LMDB can have used.
  private static func likelySecondMeta(of file: borrowing DataFile) throws(DataFileError) -> MetaPage? {
    for shift in 12...15 where file.size >= 1 << shift + MetaPage.length {
      let meta = try meta(1, at: 1 << shift, of: file)
      if meta.magic == MetaPage.magic, meta.pageSize == 1 << shift { return meta }
    }
    return nil
  }
}

extension Array where Element == UInt8 {
  mutating func withMutableBytes<R>(
    _ body: (UnsafeMutableRawBufferPointer) throws(LMDBError) -> R
  ) throws(LMDBError) -> R {
    var result: Result<R, LMDBError>?
    withUnsafeMutableBytes { bytes in
      do throws(LMDBError) { result = .success(try body(bytes)) } catch { result = .failure(error) }
    }
    return try result!.get()
  }
}

// Files that other processes write to.

extension DataFileVerifier {
  /// How often the same damage must be found before it is believed, and the pause between looks in nanoseconds: longer
  /// than the scheduler suspends a thread in the middle of writing a page.
  private static let confirmations = 5
  static let pause: Int64 = 10_000_000

  /// Looks at the meta pages while others may commit: see ``checkMeta(directory:)``.
  ///
  /// The two pages are read at different moments, each perhaps during a write. Such damage changes with the next look;
  /// real damage stays.
  package static func checkMetaBesideWriters(
    directory: String
  ) throws(DataFileError) -> (isWhole: Bool, transactionID: UInt64)? {
    try settled { () throws(DataFileError) in try checkMeta(directory: directory) }
  }

  /// Looks until nothing is wrong, or the same damage repeats.
  static func settled<R>(
    pause: Int64 = pause, _ look: () throws(DataFileError) -> R
  ) throws(DataFileError) -> R {
    var last: DataFileError?
    var count = 0
    while true {
      do throws(DataFileError) {
        return try look()
      } catch {
        count = error == last ? count + 1 : 1
        last = error
        if count >= confirmations { throw error }
      }
      MonotonicClock.sleep(nanoseconds: pause)
    }
  }
}

/// Figures of a data file that was found sound.
package struct VerifiedDataFile: Sendable, Equatable {
  package var size = 0
  package var pageSize = 0
  /// The last committed transaction's number.
  package var transactionID: UInt64 = 0
  /// Pages taken by the database so far. Free ones at the end may not be in the file yet.
  package var pages = 0
  package var depth = 0
  /// Pages of all trees, including the free list's.
  package var branchPages = 0
  package var leafPages = 0
  package var overflowPages = 0
  package var freePages = 0
  /// Entries of the main database, including records of named databases.
  package var entries = 0
  /// Pages neither in use nor free: wasted space, not damage.
  package var unreferencedPages = 0
  /// Bytes read by the verification.
  package var bytesRead = 0

  package init() {}
}
