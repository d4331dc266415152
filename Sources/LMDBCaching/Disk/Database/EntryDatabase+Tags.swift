import LMDB
import Synchronization

/// The removals by tag known at a position.
struct TagKnowledge {
  var position: UInt64 = 0
  var status: TagStatus?
}

extension EntryDatabase {
  /// The committed status of removals by tag, read once per committed transaction.
  func tagStatus() throws(CacheError) -> TagStatus {
    let position = environment.lastPosition()
    if let known = tagKnowledge.withLock({ $0.position == position ? $0.status : nil }) { return known }
    let (status, read) = try accessing("Reading the tags of \(directoryName)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        (try Self.tagStatus(txn), environment.position(of: txn))
      }
    }
    tagKnowledge.withLock { if $0.position < read { $0 = TagKnowledge(position: read, status: status) } }
    return status
  }

  static func tagStatus(_ txn: borrowing ReadTransaction) throws(LMDBError) -> TagStatus {
    try TagStatus.key.withBytes { (key) throws(LMDBError) in try txn.withValue(forKey: key) { TagStatus($0) } }
      ?? TagStatus()
  }

  func isRemoved(_ tags: EntryTags, writtenAt stamp: UInt64) throws(CacheError) -> Bool {
    if try stamp > tagStatus().last { return false }
    return try accessing("Reading the tags of \(directoryName)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        try Self.isRemoved(tags.hashes, writtenAt: stamp, in: txn)
      }
    }
  }

  static func isRemoved(
    _ tags: TagHashes, writtenAt stamp: UInt64, in txn: borrowing ReadTransaction
  ) throws(LMDBError) -> Bool {
    for hash in tags {
      let removal = try TagStatus.key(ofTag: hash).withBytes { (key) throws(LMDBError) in
        try txn.withValue(forKey: key) { TagStatus.stamp($0) } ?? 0
      }
      if removal > stamp { return true }
    }
    return false
  }

  static func isRemoved(_ header: RecordHeader, in txn: borrowing ReadTransaction) throws(LMDBError) -> Bool {
    guard let tags = header.tags else { return false }
    return try isRemoved(tags, writtenAt: header.stamp, in: txn)
  }

  /// The stamps of removals by tag hash, with the status, from one snapshot.
  func tagRemovals() throws(CacheError) -> (removals: [UInt64: UInt64], status: TagStatus) {
    try accessing("Reading the tags of \(directoryName)") { () throws(LMDBError) in
      try environment.withReadTransaction { (txn) throws(LMDBError) in
        var removals: [UInt64: UInt64] = [:]
        let status = try Self.tagStatus(txn)
        if status.last == 0 { return (removals, status) }
        try TagStatus.key.withBytes { (start) throws(LMDBError) in
          try txn.withCursor { (cursor) throws(LMDBError) in
            var position = try cursor.seek(toKeyAtOrAfter: start)
            while let entry = position, entry.key.hasPrefix(start) {
              if let tag = TagStatus.tag(ofKey: entry.key) { removals[tag] = TagStatus.stamp(entry.value) }
              position = try cursor.next()
            }
          }
        }
        return (removals, status)
      }
    }
  }
}
