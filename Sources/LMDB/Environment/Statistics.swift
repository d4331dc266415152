import CLMDB

/// The size of one database's tree (`mdb_stat`).
public struct Statistics: Sendable, Equatable {
  /// Page size in bytes.
  public var pageSize: Int
  /// Levels of the tree, 0 when empty.
  public var depth: Int
  public var branchPages: Int
  public var leafPages: Int
  /// Overflow pages, for values too large for a leaf.
  public var overflowPages: Int
  /// Number of keys.
  public var entries: Int

  init(_ statistics: MDB_stat) {
    pageSize = Int(statistics.ms_psize)
    depth = Int(statistics.ms_depth)
    branchPages = statistics.ms_branch_pages
    leafPages = statistics.ms_leaf_pages
    overflowPages = statistics.ms_overflow_pages
    entries = statistics.ms_entries
  }
}
