import LMDB

/// Removals by tag (``TagStatus``).
extension WriteSession {
  func tagRecords() throws(LMDBError) -> [(key: [UInt8], value: [UInt8])] {
    try records(withPrefix: TagStatus.key)
  }

  func tagStatus() throws(LMDBError) -> TagStatus {
    try TagStatus.key.withBytes { (key) throws(LMDBError) in try txn.withValue(forKey: key) { TagStatus($0) } }
      ?? TagStatus()
  }

  private func write(_ status: TagStatus) throws(LMDBError) {
    try TagStatus.key.withBytes { (key) throws(LMDBError) in
      try status.stored.withBytes { (stored) throws(LMDBError) in try txn.put(stored, forKey: key) }
    }
  }

  /// The stamp of the last removal by the tag, or 0 if there was none or it is forgotten.
  private func removal(ofTag hash: UInt64) throws(LMDBError) -> UInt64 {
    try TagStatus.key(ofTag: hash).withBytes { (key) throws(LMDBError) in
      try txn.withValue(forKey: key) { TagStatus.stamp($0) } ?? 0
    }
  }

  /// Hides every entry that has the tag and is older than `stamp`, even if committed later. Upkeep deletes the records.
  mutating func removeAll(tag hash: UInt64, stamp: UInt64) throws(LMDBError) {
    if try removal(ofTag: hash) >= stamp { return }
    try TagStatus.key(ofTag: hash).withBytes { (key) throws(LMDBError) in
      try withUnsafeBytes(of: stamp.littleEndian) { Array($0) }.withBytes { (stamp) throws(LMDBError) in
        try txn.put(stamp, forKey: key)
      }
    }
    var status = try tagStatus()
    status.last = max(status.last, stamp)
    try write(status)
    metadata.lastStamp = max(metadata.lastStamp, stamp)
  }

  func isRemoved(_ header: RecordHeader) throws(LMDBError) -> Bool {
    guard let tags = header.tags else { return false }
    for hash in tags where try removal(ofTag: hash) > header.stamp { return true }
    return false
  }

  /// Whether a record committed late was removed by one of its tags, as far as is still known.
  func isRemovedOrForgotten(_ header: RecordHeader) throws(LMDBError) -> Bool {
    let status = try tagStatus()
    if header.stamp > status.last { return false }
    if header.stamp <= status.forgotten { return true }
    return try isRemoved(header)
  }

  /// Notes that the database holds no entry removed by tag up to a stamp.
  func noteSweep(upTo stamp: UInt64) throws(LMDBError) {
    var status = try tagStatus()
    status.swept = max(status.swept, min(stamp, status.last))
    try write(status)
  }

  /// Forgets up to `limit` removals up to `stamp`. The database must hold none of their entries.
  func forgetTags(upTo stamp: UInt64, limit: Int) throws(LMDBError) {
    var status = try tagStatus()
    if status.last == 0 { return }
    var forgotten = status.forgotten
    try TagStatus.key.withBytes { (start) throws(LMDBError) in
      try txn.withCursor { (cursor) throws(LMDBError) in
        var position = try cursor.seek(toKeyAtOrAfter: start)
        var count = 0
        while let entry = position, entry.key.hasPrefix(start), count < limit {
          let removal = TagStatus.stamp(entry.value)
          if TagStatus.tag(ofKey: entry.key) == nil || removal > stamp {
            position = try cursor.next()
            continue
          }
          forgotten = max(forgotten, removal)
          count += 1
          try cursor.remove()
          position = try cursor.current() ?? nil
        }
      }
    }
    if forgotten == status.forgotten { return }
    status.forgotten = forgotten
    status.swept = max(status.swept, forgotten)
    try write(status)
  }
}
