import LMDB
import Platform

extension EntryDatabase {
  struct ValueUsage {
    /// Omits unreferenced segments.
    var segments: [UInt64: SegmentUsage] = [:]
    /// LMDB's number for the snapshot's transaction.
    var transactionID: UInt64 = 0

    var bytes: Int { segments.values.reduce(0) { $0.addingClamped($1.bytes) } }
  }

  func valueUsage() throws(CacheError) -> ValueUsage {
    try accessing("Reading what is in use of the values in \(directoryName)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        var usage = ValueUsage(transactionID: txn.id)
        try SegmentUsage.keyPrefix.withBytes { (prefix) throws(LMDBError) in
          try txn.withCursor { (cursor) throws(LMDBError) in
            var position = try cursor.seek(toKeyAtOrAfter: prefix)
            while let entry = position, let segment = SegmentUsage.segment(ofKey: entry.key) {
              usage.segments[segment] = SegmentUsage(entry.value)
              position = try cursor.next()
            }
          }
        }
        return usage
      }
    }
  }

  /// The pairs whose committed record still refers to the pointer.
  func referring(
    _ values: [(key: [UInt8], pointer: ValuePointer)]
  ) throws(CacheError) -> [(key: [UInt8], pointer: ValuePointer)] {
    try accessing("Looking for values of \(directoryName)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        var found: [(key: [UInt8], pointer: ValuePointer)] = []
        for value in values {
          let pointer = try value.key.withBytes { (key) throws(LMDBError) in
            try txn.withValue(forKey: key) { ValuePointer(in: $0, RecordHeader($0)) } ?? nil
          }
          if pointer == value.pointer { found.append(value) }
        }
        return found
      }
    }
  }

  /// Whether every open snapshot, in any process, includes the transaction.
  func allReadersSee(_ transactionID: UInt64) throws(CacheError) -> Bool {
    try accessing("Looking for readers of \(directoryName)") { () throws(LMDBError) in
      try environment.readers().allSatisfy { $0.transactionID >= transactionID }
    }
  }

  /// Replaces the value log usage in the database.
  static func write(_ usage: [UInt64: SegmentUsage], _ txn: borrowing WriteTransaction) throws(LMDBError) {
    try SegmentUsage.keyPrefix.withBytes { (prefix) throws(LMDBError) in
      try txn.withCursor { (cursor) throws(LMDBError) in
        var position = try cursor.seek(toKeyAtOrAfter: prefix)
        while let entry = position, SegmentUsage.segment(ofKey: entry.key) != nil {
          try cursor.remove()
          position = try cursor.current() ?? nil
        }
      }
    }
    for (segment, usage) in usage {
      try SegmentUsage.key(segment).withBytes { (key) throws(LMDBError) in
        try usage.stored.withBytes { (stored) throws(LMDBError) in try txn.put(stored, forKey: key) }
      }
    }
  }
}
