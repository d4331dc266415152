import LMDB

/// Marks of removals by prefix (``PrefixRemovals``).
extension WriteSession {
  func noteRemovals(ofPrefixes prefixes: [[UInt8]]) throws(LMDBError) {
    if prefixes.isEmpty { return }
    try PrefixRemovals.key.withBytes { (key) throws(LMDBError) in
      var removals = try txn.withValue(forKey: key) { PrefixRemovals($0) } ?? PrefixRemovals()
      removals.note(prefixes, stamp: metadata.lastStamp)
      try removals.stored.withBytes { (bytes) throws(LMDBError) in try txn.put(bytes, forKey: key) }
    }
  }

  func prefixRemovalRecords() throws(LMDBError) -> [(key: [UInt8], value: [UInt8])] {
    try records(withPrefix: PrefixRemovals.key).filter { $0.key == PrefixRemovals.key }
  }
}
