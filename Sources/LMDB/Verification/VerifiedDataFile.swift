/// A data file that was found sound, in numbers.
public struct VerifiedDataFile: Sendable, Equatable {
  /// Bytes of the file.
  public var size = 0
  /// Bytes of a page.
  public var pageSize = 0
  /// The number of the last committed transaction.
  public var transactionID: UInt64 = 0
  /// Pages that the database has taken so far. Free ones at the end need not be in the file yet.
  public var pages = 0
  /// Levels of the main database's tree.
  public var depth = 0
  /// Pages of all trees, that of the free list included.
  public var branchPages = 0
  public var leafPages = 0
  public var overflowPages = 0
  /// Pages in the free list.
  public var freePages = 0
  /// Entries of the main database, named databases included.
  public var entries = 0
  /// Pages that are neither in use nor free: room that is lost, and no damage.
  public var unreferencedPages = 0
  /// Bytes that the verification read.
  public var bytesRead = 0

  public init() {}
}
