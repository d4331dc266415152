import LMDB

extension EntryDatabase {
  func removalMarks() throws(CacheError) -> RemovalMarks {
    try accessing("Reading what was removed from \(directoryName)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        let prefixes = try PrefixRemovals.key.withBytes { (key) throws(LMDBError) in
          try txn.withValue(forKey: key) { PrefixRemovals($0) } ?? PrefixRemovals()
        }
        return RemovalMarks(
          clear: try Self.metadata(txn).clearStamp, tag: try Self.tagStatus(txn), prefixes: prefixes)
      }
    }
  }
}
