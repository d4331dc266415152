extension Environment {
  /// The state of an environment at one moment (`mdb_env_info` and `mdb_env_stat`).
  public struct Info: Sendable, Equatable {
    /// The map's size in bytes: the largest size the file can have.
    public var mapSize: Int
    /// The number of the last page in use; the file is `(lastPageNumber + 1) * pageSize` bytes long.
    public var lastPageNumber: Int
    /// The last committed transaction's number.
    public var lastTransactionID: UInt64
    /// Slots of the reader table, which all processes share.
    public var maxReaders: Int
    /// Slots that are or were in use.
    public var readersInUse: Int
    /// Page size in bytes.
    public var pageSize: Int
    /// Levels of the main database's tree.
    public var depth: Int
    public var branchPages: Int
    public var leafPages: Int
    public var overflowPages: Int
    /// Number of keys in the main database.
    public var entries: Int

    /// Size of the main database's tree in bytes.
    package var usedBytes: Int {
      DataFileFigures.bytes(of: branchPages, leafPages, overflowPages, pageSize: pageSize)
    }
  }
}
