import LMDB

/// Removals by prefix leave a mark: see ``RemovalMarks``.
extension WriteSession {
  /// The greatest stamp that is committed with the removal, unless an older one is committed late.
  func markPrefixRemoval() throws(LMDBError) {
    let stamp = metadata.lastStamp
    try RemovalMarks.prefixKey.withBytes { (key) throws(LMDBError) in
      let last = try txn.withValue(forKey: key) { RemovalMarks.prefixMark($0) } ?? 0
      let mark = max(stamp, last &+ 1)
      try withUnsafeBytes(of: mark.littleEndian) { Array($0) }.withBytes { (mark) throws(LMDBError) in
        try txn.put(mark, forKey: key)
      }
    }
  }

  /// The mark as it is stored, if there is one.
  func prefixMarkRecords() throws(LMDBError) -> [(key: [UInt8], value: [UInt8])] {
    try records(withPrefix: RemovalMarks.prefixKey).filter { $0.key == RemovalMarks.prefixKey }
  }
}
