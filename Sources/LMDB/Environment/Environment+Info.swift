extension Environment {
  /// The state of an environment at one moment (`mdb_env_info` and `mdb_env_stat`).
  public struct Info: Sendable, Equatable {
    /// Bytes of address space that the map takes: the largest size the file can have.
    public var mapSize: Int
    /// The number of the last page in use; the file is `(lastPageNumber + 1) * pageSize` bytes long.
    public var lastPageNumber: Int
    /// The number of the last committed transaction.
    public var lastTransactionID: UInt64
    /// Slots of the reader table that all processes share.
    public var maxReaders: Int
    /// Slots of that table that are or were in use.
    public var readersInUse: Int
    /// Bytes of a page.
    public var pageSize: Int
    /// Levels of the main database's tree.
    public var depth: Int
    public var branchPages: Int
    public var leafPages: Int
    public var overflowPages: Int
    /// Number of keys in the main database.
    public var entries: Int

    /// Bytes of the pages of the main database's tree.
    package var usedBytes: Int {
      DataFileFigures.bytes(of: branchPages, leafPages, overflowPages, pageSize: pageSize)
    }
  }
}
