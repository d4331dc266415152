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
/// The caller must ensure that no process writes during the verification.
package enum DataFileVerifier {
  /// Verifies `data.mdb` and calls `visit` with each entry of the main database in key order. Key and value are valid
  /// until it returns.
  ///
  /// - Returns: `nil` if the file is missing or empty; LMDB treats an empty file as new.
  /// - Throws: ``DataFileError``: the first damage found, or the reason why the file could not be read.
  package static func verify(
    directory: String, visit: @escaping DataFileWalk.Visit = { _, _ in }
  ) throws(DataFileError) -> VerifiedDataFile? {
    guard let file = try open(directory), file.size > 0 else { return nil }
    let meta = try newestMeta(of: file)
    file.readAhead()
    return try unsafe DataFileWalk(file, meta, visit).run()
  }

  /// Looks at the meta pages only, also while others commit.
  ///
  /// The two pages are read at different moments, each perhaps during a write. Such damage changes with the next look;
  /// real damage stays.
  ///
  /// - Returns: Whether all pages are in the file, and the last transaction; `nil` if the file is missing or empty.
  ///   Free pages at the end may be missing, so only ``verify(directory:visit:)`` decides when pages are.
  package static func checkMeta(directory: String) throws(DataFileError) -> (isWhole: Bool, transactionID: UInt64)? {
    try settled { () throws(DataFileError) in
      guard let file = try open(directory), file.size > 0 else { return nil }
      let meta = try newestMeta(of: file)
      return (UInt64(file.size) / UInt64(meta.pageSize) > meta.lastPage, meta.transactionID)
    }
  }

  /// How often the same damage must be found before it is believed, and the pause between looks in nanoseconds: longer
  /// than the scheduler suspends a thread in the middle of writing a page.
  private static let confirmations = 5
  static let pause: Int64 = 10_000_000

  /// Looks until nothing is wrong, or the same damage repeats.
  static func settled<R>(pause: Int64 = pause, _ look: () throws(DataFileError) -> R) throws(DataFileError) -> R {
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

  private static func open(_ path: String) throws(DataFileError) -> DataFile? {
    try DataFile(in: try reading { () throws(SystemError) in try Directory(existing: path) })
  }

  /// Checks both meta pages and returns the one with the later transaction, which LMDB would use.
  static func newestMeta(of file: borrowing DataFile) throws(DataFileError) -> MetaPage {
    let first = try file.meta(0, at: 0)
    if first.magic != MetaPage.magic || first.version != MetaPage.version {
      // The other page distinguishes a damaged file from one that is no database, but only the first gives its offset.
      if let other = try likelySecondMeta(of: file), other.version == first.version || first.magic != MetaPage.magic {
        let kind: DataFileFinding.Kind = other.version == MetaPage.version ? .meta : .version
        throw .finding(DataFileFinding(kind, page: 0, "the first meta page is not one of LMDB's version 1"))
      }
    }
    try first.check(at: 0, fileSize: file.size)
    let second = try file.meta(1, at: Int(first.pageSize))
    try second.check(at: 1, fileSize: file.size)
    try require(
      first.pageSize == second.pageSize, .pageSize, 1,
      "the page size is \(second.pageSize), and \(first.pageSize) in page 0")
    let (newest, older) = first.transactionID < second.transactionID ? (second, first) : (first, second)
    // Every commit overwrites the older page, after it has made the newer one durable.
    try require(
      newest.transactionID - older.transactionID == 1 || newest.transactionID == 0, .meta,
      newest.transactionID & 1 == 0 ? 1 : 0,
      "transactions \(first.transactionID) and \(second.transactionID) do not follow each other")
    return newest
  }

  /// The second meta page, if found at any page size that LMDB can have used.
  private static func likelySecondMeta(of file: borrowing DataFile) throws(DataFileError) -> MetaPage? {
    for shift in 12...15 where file.size >= 1 << shift + MetaPage.length {
      let meta = try file.meta(1, at: 1 << shift)
      if meta.magic == MetaPage.magic, meta.pageSize == 1 << shift { return meta }
    }
    return nil
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

  package init() {}
}
