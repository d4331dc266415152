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
    let (status, read) = try reading("Reading the tags of \(directoryName)") { (txn) throws(LMDBError) in
      (try Self.tagStatus(txn), environment.position(of: txn))
    }
    tagKnowledge.withLock { if $0.position < read { $0 = TagKnowledge(position: read, status: status) } }
    return status
  }

  static func tagStatus(_ txn: borrowing some EntryTransaction & ~Copyable) throws(LMDBError) -> TagStatus {
    try txn.value(TagStatus.key) { TagStatus($0) } ?? TagStatus()
  }

  /// The stamp of the last removal by the tag, or 0 if there was none or it is forgotten.
  static func removal(ofTag hash: UInt64, _ txn: borrowing some EntryTransaction & ~Copyable) throws(LMDBError)
    -> UInt64
  {
    try txn.value(TagStatus.key(ofTag: hash)) { TagStatus.stamp($0) } ?? 0
  }

  func isRemoved(_ tags: EntryTags, writtenAt stamp: UInt64) throws(CacheError) -> Bool {
    if try stamp > tagStatus().last { return false }
    return try reading("Reading the tags of \(directoryName)") { (txn) throws(LMDBError) in
      try Self.isRemoved(tags.hashes, writtenAt: stamp, in: txn)
    }
  }

  static func isRemoved(
    _ tags: TagHashes, writtenAt stamp: UInt64, in txn: borrowing some EntryTransaction & ~Copyable
  ) throws(LMDBError) -> Bool {
    for hash in tags where try removal(ofTag: hash, txn) > stamp { return true }
    return false
  }

  static func isRemoved(_ header: RecordHeader, in txn: borrowing some EntryTransaction & ~Copyable) throws(LMDBError)
    -> Bool
  {
    guard let tags = header.tags else { return false }
    return try isRemoved(tags, writtenAt: header.stamp, in: txn)
  }

  /// The stamps of removals by tag hash, with the status, from one snapshot.
  func tagRemovals() throws(CacheError) -> (removals: [UInt64: UInt64], status: TagStatus) {
    try reading("Reading the tags of \(directoryName)") { (txn) throws(LMDBError) in
      var removals: [UInt64: UInt64] = [:]
      let status = try Self.tagStatus(txn)
      if status.last == 0 { return (removals, status) }
      try txn.forEach(withPrefix: TagStatus.key) { entry in
        if let tag = TagStatus.tag(ofKey: entry.keyBytes) { removals[tag] = TagStatus.stamp(entry.valueBytes) }
      }
      return (removals, status)
    }
  }
}

/// Removals by tag (``TagStatus``).
extension WriteSession {
  private func write(_ status: TagStatus) throws(LMDBError) { try txn.put(status.stored, TagStatus.key) }

  /// Hides every entry that has the tag and is older than `stamp`, even if committed later. Upkeep deletes the records.
  mutating func removeAll(tag hash: UInt64, stamp: UInt64) throws(LMDBError) {
    if try EntryDatabase.removal(ofTag: hash, txn) >= stamp { return }
    try txn.put(stamp.littleEndian.bytes, TagStatus.key(ofTag: hash))
    var status = try EntryDatabase.tagStatus(txn)
    status.last = max(status.last, stamp)
    try write(status)
    metadata.lastStamp = max(metadata.lastStamp, stamp)
  }

  /// Whether a record committed late was removed by one of its tags, as far as is still known.
  func isRemovedOrForgotten(_ header: RecordHeader) throws(LMDBError) -> Bool {
    let status = try EntryDatabase.tagStatus(txn)
    if header.stamp > status.last { return false }
    if header.stamp <= status.forgotten { return true }
    return try EntryDatabase.isRemoved(header, in: txn)
  }

  /// Notes that the database holds no entry removed by tag up to a stamp.
  func noteSweep(upTo stamp: UInt64) throws(LMDBError) {
    var status = try EntryDatabase.tagStatus(txn)
    status.swept = max(status.swept, min(stamp, status.last))
    try write(status)
  }

  /// Forgets up to `limit` removals up to `stamp`. The database must hold none of their entries.
  func forgetTags(upTo stamp: UInt64, limit: Int) throws(LMDBError) {
    var status = try EntryDatabase.tagStatus(txn)
    if status.last == 0 { return }
    var forgotten = status.forgotten
    var keys: [[UInt8]] = []
    try txn.forEach(withPrefix: TagStatus.key) { entry in
      let removal = TagStatus.stamp(entry.valueBytes)
      guard keys.count < limit, TagStatus.tag(ofKey: entry.keyBytes) != nil, removal <= stamp else { return }
      forgotten = max(forgotten, removal)
      keys.append(Array(entry.keyBytes))
    }
    for key in keys { try txn.remove(key) }
    if forgotten == status.forgotten { return }
    status.forgotten = forgotten
    status.swept = max(status.swept, forgotten)
    try write(status)
  }
}

/// Marks of removals of many entries. Comparing two states shows the removals in between, even for missing keys.
struct RemovalMarks {
  /// The stamp of the last removal of all entries (``CacheMetadata/clearStamp``).
  let clear: UInt64
  let tag: TagStatus
  let prefixes: PrefixRemovals
}

/// The latest removals by prefix, stored as a mark of eight bytes, up to which removals are forgotten, then for each
/// removal its mark, the prefix's length in one byte, and the prefix.
struct PrefixRemovals {
  private struct Removal {
    /// Increases with each transaction that removes by prefix.
    let mark: UInt64
    /// A long prefix is truncated, and so covers more keys.
    let prefix: [UInt8]
  }

  /// Forgotten removals count for every load that began before them.
  private static let maximumCount = 32
  private static let maximumLength = 48

  private var forgotten: UInt64 = 0
  private var removals: [Removal] = []

  static let key: [UInt8] = [DatabaseKey.reservedMarker, UInt8(ascii: "p")]

  init() {}

  /// Reads a record; a malformed one counts as empty.
  init(_ bytes: ByteView) {
    var rest = bytes
    func takeMark() -> UInt64? {
      guard rest.count >= 8 else { return nil }
      let mark = rest.load(as: UInt64.self)
      rest = rest[8...]
      return mark < StampClock.foundLimit ? mark : nil
    }
    guard let forgotten = takeMark() else { return }
    var removals: [Removal] = []
    while !rest.isEmpty {
      guard let mark = takeMark(), mark >= removals.last?.mark ?? forgotten,
        let length = rest.first.map(Int.init), length < rest.count
      else { return }
      removals.append(Removal(mark: mark, prefix: Array(rest[1..<length + 1])))
      rest = rest[(length + 1)...]
    }
    (self.forgotten, self.removals) = (forgotten, removals)
  }

  var stored: [UInt8] {
    func bytes(_ mark: UInt64) -> [UInt8] { mark.littleEndian.bytes }
    return removals.reduce(into: bytes(forgotten)) { $0 += bytes($1.mark) + [UInt8($1.prefix.count)] + $1.prefix }
  }

  var last: UInt64 { removals.last?.mark ?? forgotten }

  /// Notes the removals of one transaction.
  ///
  /// - Parameter stamp: The greatest stamp committed with them, unless an older one is committed late.
  mutating func note(_ prefixes: [[UInt8]], stamp: UInt64) {
    let mark = max(stamp, last + 1)
    for prefix in prefixes.map({ Array($0.prefix(Self.maximumLength)) }) {
      removals.removeAll { $0.prefix.starts(with: prefix) }
      removals.append(Removal(mark: mark, prefix: prefix))
    }
    while removals.count > Self.maximumCount { forgotten = removals.removeFirst().mark }
  }

  /// Whether the key may have been removed after a mark.
  func includes(_ key: ByteView, since mark: UInt64) -> Bool {
    mark < forgotten || removals.contains { $0.mark > mark && key.hasPrefix($0.prefix) }
  }
}
