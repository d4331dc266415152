/// Reads a data file of LMDB 0.9 as it lies on the disk, and tells whether LMDB can be trusted with it.
///
/// LMDB checks next to nothing: a page that is past the end of the file is a SIGBUS, a damaged branch page an
/// `abort()`, a page size of zero a SIGFPE, and a damaged leaf a wrong value. This reads with pread(2) alone and believes
/// no number, so that nothing in the file can crash it, and follows everything that LMDB would follow: both meta
/// pages, the trees of the free list, of the main database and of named ones, the first page of every large value and
/// the list of free pages. What values contain is not looked at.
///
/// Memory: a bit for each page, and a page for each level of a tree. Time: every page is read at most once.
///
/// The caller makes sure that nobody writes meanwhile. The format is that of mdb.c, with words in the order of this
/// machine.
package enum DataFileVerifier {
  /// Verifies `data.mdb` of a directory.
  ///
  /// - Returns: What was found; `nil` if there is no file, or an empty one, which LMDB takes for a new one.
  /// - Throws: ``DataFileError``: what is wrong first, or why the file could not be read.
  package static func verify(directory: String) throws(DataFileError) -> VerifiedDataFile? {
    try verify(directory: directory) { _, _ in }
  }

  /// The same, and calls `visit` with the key and the value of every entry of the main database in the order of the keys.
  /// Both are valid until it returns.
  package static func verify(directory: String, visit: @escaping DataFileWalk.Visit) throws(DataFileError)
    -> VerifiedDataFile?
  {
    guard let file = try open(directory), file.size > 0 else { return nil }
    let meta = try newestMeta(of: file)
    file.readAhead()
    return try DataFileWalk(file, meta, visit).run()
  }

  /// Looks at the meta pages alone.
  ///
  /// - Returns: Whether all pages are in the file, and the last transaction. Free pages at the end need not be there,
  ///   so that only ``verify(directory:)`` can tell in that case. `nil` if there is no file, or an empty one.
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

  /// Checks both meta pages, and returns the one that LMDB would use: that of the later transaction.
  static func newestMeta(of file: borrowing DataFile) throws(DataFileError) -> MetaPage {
    let first = try meta(0, at: 0, of: file)
    if first.magic == MetaPage.magic, first.version == MetaPage.version {
      try first.check(at: 0, fileSize: file.size)
    } else {
      // The other one tells a damaged file from one that is no database, but where it lies only the first one says.
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
    // Every commit writes the older one, and before that makes the newer one durable.
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

  /// The second meta page, if one is found at any page size that LMDB can have used.
  private static func likelySecondMeta(of file: borrowing DataFile) throws(DataFileError) -> MetaPage? {
    for shift in 12...15 where file.size >= 1 << shift + MetaPage.length {
      let meta = try meta(1, at: 1 << shift, of: file)
      if meta.magic == MetaPage.magic, meta.pageSize == 1 << shift { return meta }
    }
    return nil
  }
}

extension Array where Element == UInt8 {
  /// With a typed error.
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
