import LMDB

extension CacheReader {
  /// Differs after any write.
  func followedState() throws(CacheError) -> (position: Position, pendingWrites: Int, clearStamp: UInt64) {
    try look(activity) { (snapshot) throws(ReadingFailure) in
      var clearStamp = snapshot.pending.clearStamp
      if case .metadata(let metadata)? = try snapshot.metadata() { clearStamp = max(clearStamp, metadata.clearStamp) }
      let position = Position(file: snapshot.file.identity, transactionID: snapshot.file.transactionID)
      return (position, snapshot.pending.count, clearStamp)
    }
  }

  /// Why a read finds no entry under a key; `nil` if there is one.
  func cause(ofAbsence key: String) throws(CacheError) -> ChangeCause? {
    try look("Reading \(quoted(key))") { (snapshot) throws(ReadingFailure) in
      try withUTF8Bytes(of: key) { (key) throws(ReadingFailure) -> ChangeCause? in
        if try snapshot.find(key, .live, { _ in true }) != nil { return nil }
        let isExpired = try snapshot.find(key, .all) { $0.header.expires != 0 && !$0.header.flags.contains(.absence) }
        return isExpired == true ? .expiry : .write
      }
    }
  }
}
