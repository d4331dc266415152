import Platform

/// LMDB's recorded figures of a committed state.
package struct DataFileFigures: Sendable, Equatable {
  package let transactionID: UInt64
  /// Bytes.
  package let pageSize: Int
  /// Pages taken by the database so far, including free ones.
  package let pages: Int
  /// Address space reserved by the last writer, in bytes.
  package let mapSize: Int
  /// Levels of the main database's tree. The properties below describe the same tree.
  package let depth: Int
  package let branchPages: Int
  package let leafPages: Int
  package let overflowPages: Int
  package let entries: Int

  /// The tree's size in bytes.
  package var usedBytes: Int {
    Self.bytes(of: branchPages, leafPages, overflowPages, pageSize: pageSize)
  }

  /// The file's numbers are untrusted: any that are not negative.
  static func bytes(of branchPages: Int, _ leafPages: Int, _ overflowPages: Int, pageSize: Int) -> Int {
    branchPages.addingClamped(leafPages).addingClamped(overflowPages).multipliedClamped(by: pageSize)
  }
}
