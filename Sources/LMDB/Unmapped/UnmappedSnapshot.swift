package import Platform

/// A committed state of an ``UnmappedFile``, lent to the body of ``UnmappedFile/read(_:)``.
///
/// Only the values that `read` returns are known to belong to one state.
package struct UnmappedSnapshot {
  let file: UnmappedFile
  let meta: MetaPage
  let pageSize: Int
  private let pagesInFile: Int
  /// The number of earlier runs that came too late.
  package let attempt: Int

  init(_ file: UnmappedFile, _ meta: MetaPage, size: Int, attempt: Int) {
    self.file = file
    self.meta = meta
    self.attempt = attempt
    pageSize = Int(meta.pageSize)
    pagesInFile = size / pageSize
  }

  package var identity: FileIdentity { file.identity }

  package var transactionID: UInt64 { meta.transactionID }

  /// The state's figures as LMDB recorded them.
  package var figures: DataFileFigures {
    DataFileFigures(
      transactionID: meta.transactionID, pageSize: pageSize, pages: Int(meta.lastPage) + 1, mapSize: Int(meta.mapSize),
      depth: Int(meta.main.depth), branchPages: Int(clamping: meta.main.branchPages),
      leafPages: Int(clamping: meta.main.leafPages), overflowPages: Int(clamping: meta.main.overflowPages),
      entries: Int(clamping: meta.main.entries))
  }

  /// The number of the meta page that records this state.
  var place: UInt64 { meta.number }

  /// Fills `buffer` with one page or several adjacent pages that `parent` refers to.
  func read(
    _ page: UInt64, into buffer: UnsafeMutableRawBufferPointer, from parent: UInt64
  ) throws(DataFileError) {
    try check(page, count: buffer.count, from: parent)
    try file.read(buffer, at: Int(page) * pageSize, page: page)
  }

  /// Throws if fewer than `count` bytes follow from a page.
  func check(_ page: UInt64, count: Int, from parent: UInt64) throws(DataFileError) {
    let (end, overflow) = page.addingReportingOverflow(UInt64((count + pageSize - 1) / pageSize))
    guard page >= 2, !overflow, end <= meta.lastPage + 1 else {
      throw .finding(
        DataFileFinding(.pageNumber, page: parent, "refers to page \(page), and the last is \(meta.lastPage)"))
    }
    guard end <= UInt64(pagesInFile) else {
      throw .finding(
        DataFileFinding(.truncated, page: page, "page \(parent) refers to it, and the file has \(pagesInFile) pages"))
    }
  }
}
