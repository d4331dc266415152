import Platform

/// What LMDB has recorded of a committed state.
package struct DataFileFigures: Sendable, Equatable {
  package let transactionID: UInt64
  /// Bytes.
  package let pageSize: Int
  /// Pages that the database has taken so far, free ones included.
  package let pages: Int
  /// Bytes of address space that the last writer set aside.
  package let mapSize: Int
  /// Levels of the main database's tree; the rest is of this tree as well.
  package let depth: Int
  package let branchPages: Int
  package let leafPages: Int
  package let overflowPages: Int
  package let entries: Int

  /// Bytes of the pages of the tree.
  package var usedBytes: Int {
    Self.bytes(of: branchPages, leafPages, overflowPages, pageSize: pageSize)
  }

  /// The numbers are the file's own, and may be any that are not negative.
  static func bytes(of branchPages: Int, _ leafPages: Int, _ overflowPages: Int, pageSize: Int) -> Int {
    branchPages.addingClamped(leafPages).addingClamped(overflowPages).multipliedClamped(by: pageSize)
  }
}
