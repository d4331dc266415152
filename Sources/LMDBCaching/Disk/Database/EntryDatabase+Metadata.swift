import LMDB

extension EntryDatabase {
  /// The committed counts and costs.
  func metadata() throws(CacheError) -> CacheMetadata {
    try accessing("Reading the counts of \(directoryName)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in try Self.metadata(txn) }
    }
  }

  static func metadata(_ txn: borrowing ReadTransaction) throws(LMDBError) -> CacheMetadata {
    guard case .metadata(let metadata)? = try readMetadata(txn) else { throw damagedMetadata }
    return metadata
  }

  static var damagedMetadata: LMDBError {
    LMDBError(
      code: .corrupted, operation: "EntryDatabase.metadata", message: "The cache's own record is gone or damaged.")
  }

  /// Returns `nil` if the record is missing: a new database, or another kind.
  static func readMetadata(_ txn: borrowing WriteTransaction) throws(LMDBError) -> CacheMetadata.Reading? {
    try CacheMetadata.key.withBytes { (key) throws(LMDBError) in
      try txn.withValue(forKey: key) { CacheMetadata.read($0) }
    }
  }

  static func readMetadata(_ txn: borrowing ReadTransaction) throws(LMDBError) -> CacheMetadata.Reading? {
    try CacheMetadata.key.withBytes { (key) throws(LMDBError) in
      try txn.withValue(forKey: key) { CacheMetadata.read($0) }
    }
  }

  static func write(_ metadata: CacheMetadata, _ txn: borrowing WriteTransaction) throws(LMDBError) {
    var bytes = [UInt8](repeating: 0, count: CacheMetadata.size)
    bytes.withUnsafeMutableBytes { metadata.write(to: $0) }
    try CacheMetadata.key.withBytes { (key) throws(LMDBError) in
      try bytes.withBytes { (bytes) throws(LMDBError) in try txn.put(bytes, forKey: key) }
    }
  }
}
