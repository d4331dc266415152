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
