/// A data file that was found sound, in numbers.
package struct VerifiedDataFile: Sendable, Equatable {
  /// Bytes of the file.
  package var size = 0
  /// Bytes of a page.
  package var pageSize = 0
  /// The number of the last committed transaction.
  package var transactionID: UInt64 = 0
  /// Pages that the database has taken so far. Free ones at the end need not be in the file yet.
  package var pages = 0
  /// Levels of the main database's tree.
  package var depth = 0
  /// Pages of all trees, that of the free list included.
  package var branchPages = 0
  package var leafPages = 0
  package var overflowPages = 0
  /// Pages in the free list.
  package var freePages = 0
  /// Entries of the main database, named databases included.
  package var entries = 0
  /// Pages that are neither in use nor free: room that is lost, and no damage.
  package var unreferencedPages = 0
  /// Bytes that the verification read.
  package var bytesRead = 0

  package init() {}
}
