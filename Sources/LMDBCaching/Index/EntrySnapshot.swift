package import Foundation
import LMDB
import Platform

/// One state of a cache for lists, inspection and copies: the entries of a read transaction, overlaid with the writes of
/// journals.
struct EntrySnapshot: ~Copyable {
  private let txn: ReadTransaction
  let pending: PendingWrites
  let reading: CacheMetadata.Reading?
  private let tagStatus: TagStatus
  /// The stamp of the last committed removal of everything.
  private let clearedAt: UInt64
  private let databaseKey: DatabaseKey
  /// Nanoseconds since 1970.
  private let now: Int64

  /// Valid until the end of the transaction.
  init(
    _ txn: borrowing ReadTransaction, _ databaseKey: DatabaseKey, at now: Int64,
    pending: PendingWrites = PendingWrites()
  ) throws(LMDBError) {
    let (reading, tagStatus) = (try EntryDatabase.readMetadata(txn), try EntryDatabase.tagStatus(txn))
    clearedAt = if case .metadata(let metadata)? = reading { metadata.clearStamp } else { 0 }
    (self.reading, self.tagStatus, self.pending) = (reading, tagStatus, pending)
    self.databaseKey = databaseKey
    self.now = now
    self.txn = unsafe txn.alias()
  }

  var transactionID: UInt64 { txn.id }

  /// `nil` before the first write.
  var metadata: CacheMetadata? { if case .metadata(let metadata)? = reading { metadata } else { nil } }

  /// The stamp of the last removal of everything, committed or not.
  var clearStamp: UInt64 { max(pending.clearStamp, clearedAt) }

  // MARK: Entries

  /// Finds the newest record under a key, if it is selected or unreadable.
  func find(_ key: ByteView, _ selection: EntrySelection = .live) throws(LMDBError) -> FoundRecord? {
    let found = try databaseKey.withDatabaseKey(key) { (databaseKey) throws(LMDBError) in
      let committed = try txn.withValue(forKey: databaseKey) { $0 }
      // The database key may be in memory of this call.
      return newest(databaseKey, committed, pending.entry(databaseKey)).flatMap { $0.replacingKey(by: key) }
    }
    guard let found, try isShown(found, nil, selection, withUnreadable: true) else { return nil }
    return found
  }

  /// Calls `body` with the records whose keys start with `prefix`, in database order, until it returns `false`.
  ///
  /// - Parameters:
  ///   - limit: The number of records to examine, at least one.
  ///   - withUnreadable: Whether to include records of other versions, without a header.
  /// - Returns: Where to continue; `nil` at the end.
  func scan(
    _ prefix: ByteView, after place: EntryPlace? = nil, limit: Int = .max, _ selection: EntrySelection,
    withUnreadable: Bool = false, _ body: (FoundRecord) -> Bool
  ) throws(LMDBError) -> EntryPlace? {
    try txn.withCursor { (cursor) throws(LMDBError) in
      var left = limit
      for range in KeyRange.ranges(ofPrefix: prefix) where range.isLong || place?.isLong != true {
        // A place before this range does not restrict it.
        let after = place.flatMap {
          $0.isLong == range.isLong && !$0.databaseKey.lexicographicallyPrecedes(range.start) ? $0.databaseKey : nil
        }
        var committed = try after == nil ? range.first(cursor) : EntryDatabase.position(cursor, after: after)
        var waiting = (after ?? range.start).withBytes { pending.index(atOrAfter: $0) }
        if let after, waiting < pending.entries.count, pending.entries[waiting].databaseKey.elementsEqual(after) {
          waiting += 1
        }
        while true {
          if let entry = committed, !range.contains(entry.keyBytes) { committed = nil }
          var entry = waiting < pending.entries.count ? pending.entries[waiting] : nil
          if let next = entry, !range.contains(next.databaseKey) { entry = nil }
          guard let key = Self.first(committed?.keyBytes, entry?.databaseKey) else { break }
          let isCommitted = entry == nil || committed?.keyBytes.elementsEqual(fast: key) == true
          let isPending = committed == nil || entry?.databaseKey.elementsEqual(fast: key) == true
          left -= 1
          let found = newest(key, isCommitted ? committed?.valueBytes : nil, isPending ? entry : nil)
          var goesOn = true
          if let found, try isShown(found, prefix, selection, withUnreadable: withUnreadable) { goesOn = body(found) }
          if !goesOn || left <= 0 { return EntryPlace(databaseKey: Array(key)) }
          if isCommitted { committed = try cursor.next() }
          if isPending { waiting += 1 }
        }
      }
      return nil
    }
  }

  private static func first(_ one: ByteView?, _ other: ByteView?) -> ByteView? {
    guard let one, let other else { return one ?? other }
    return other.precedes(one) ? other : one
  }

  /// The newer one of a committed and a pending record; `nil` for a removal.
  private func newest(_ databaseKey: ByteView, _ committed: ByteView?, _ entry: PendingWrites.Entry?) -> FoundRecord? {
    if let entry, pending.replaces(committed.flatMap { RecordHeader($0) }, by: entry, clearedAt: clearedAt) {
      return entry.isRemoval ? nil : FoundRecord(databaseKey, entry.frame.record, isPending: true)
    }
    return committed.map { FoundRecord(databaseKey, $0, isPending: false) }
  }

  private func isShown(
    _ found: FoundRecord, _ prefix: ByteView?, _ selection: EntrySelection, withUnreadable: Bool
  ) throws(LMDBError) -> Bool {
    guard let header = found.header else { return withUnreadable }
    guard prefix.map({ found.key.hasPrefix($0) }) ?? true, selection.shows(header, at: now),
      !pending.removes(header, under: found.key, clearedAt: clearedAt)
    else { return false }
    guard let tags = header.tags, header.stamp <= tagStatus.last else { return true }
    if found.isPending, header.stamp <= tagStatus.forgotten { return false }
    return try !EntryDatabase.isRemoved(tags, writtenAt: header.stamp, in: txn)
  }

  /// The entry with its value.
  ///
  /// - Throws: `.corruptedRecord`, `.unsupportedRecord`, or the errors of reading the value log.
  func record(_ found: FoundRecord, _ values: ValueReader) throws(CacheError) -> EntryRecord {
    let key = String(utf8: found.key)
    guard let header = found.header else { throw .unreadable(found.bytes, key) }
    guard header.isIntact(found.bytes, key: found.key) else { throw .corrupted(key) }
    let entry = CacheEntry(key, header, found.bytes)
    guard let pointer = ValuePointer(in: found.bytes, header) else {
      return EntryRecord(entry: entry, header: header.detached, stored: Data(header.payload(of: found.bytes)))
    }
    let reading = try calling("Reading the value of \(quoted(key))") { () throws(SystemError) in
      try values.isPresent(pointer) ? try values.read(pointer) : .missing
    }
    guard case .value(let data) = reading else { throw .corrupted(key) }
    return EntryRecord(entry: entry, header: header.detached, stored: data)
  }

  // MARK: Totals

  /// The change in count and cost by journaled writes; `nil` if only a scan could tell.
  func pendingChange() throws(LMDBError) -> (entries: Int, cost: Int128)? {
    // Entries removed by tag count until upkeep deletes them.
    guard pending.clearStamp == 0, pending.prefixes.isEmpty else { return nil }
    var change: (entries: Int, cost: Int128) = (0, 0)
    for entry in pending.entries {
      let committed = try txn.withValue(forKey: entry.databaseKey) { RecordHeader($0) } ?? nil
      guard pending.replaces(committed, by: entry, clearedAt: clearedAt) else { continue }
      if let committed { change = (change.entries - 1, change.cost - Int128(committed.cost)) }
      if entry.isRemoval { continue }
      change = (change.entries + 1, change.cost + Int128(RecordHeader(entry.frame.record)?.cost ?? 0))
    }
    return change
  }

  /// The size of the main database's tree.
  func tree() throws(LMDBError) -> Statistics { try txn.statistics() }

  /// Bytes in use of the value log.
  func valueBytes() throws(LMDBError) -> Int { try EntryDatabase.valueUsage(txn).bytes }
}

/// The newest record of a key, in place: valid as long as the snapshot.
struct FoundRecord {
  let bytes: ByteView
  /// `nil` for a record of another version.
  let header: RecordHeader?
  /// The cache's key, or the beginning of a long key without a header.
  private(set) var key: ByteView
  /// Whether the record is from a journal.
  let isPending: Bool

  init(_ databaseKey: ByteView, _ bytes: ByteView, isPending: Bool) {
    self.bytes = bytes
    self.isPending = isPending
    if let header = RecordHeader(bytes),
      let key = DatabaseKey.key(ofDatabaseKey: databaseKey, record: bytes, header: header)
    {
      (self.header, self.key) = (header, key)
    } else {
      header = nil
      let isLong = databaseKey.first == DatabaseKey.longMarker
      key = isLong ? databaseKey[1..<min(databaseKey.count, 1 + DatabaseKey.longPrefixLength)] : databaseKey
    }
  }

  /// The same record with its key elsewhere; `nil` if it belongs to another key with the same digest.
  func replacingKey(by key: ByteView) -> FoundRecord? {
    guard header == nil || self.key.elementsEqual(fast: key) else { return nil }
    var copy = self
    copy.key = key
    return copy
  }

  /// Without verifying the checksum; only for a record with a header.
  var entry: CacheEntry? { header.map { CacheEntry(String(utf8: key), $0, bytes) } }
}

package enum EntrySelection {
  /// Entries that a read finds.
  case live
  /// Also entries that only a load finds: expired but kept ones, and absences.
  case kept
  /// All stored entries.
  case all

  func shows(_ header: RecordHeader, at now: Int64) -> Bool {
    switch self {
    case .live: !header.isExpired(at: now)
    case .kept: !header.isOver(at: now)
    case .all: true
    }
  }
}

/// A position in a list of entries, after the last one of a page.
package struct EntryPlace: Hashable, Sendable {
  /// The database key of that entry; any bytes are valid.
  package let databaseKey: [UInt8]

  package init(databaseKey: [UInt8]) { self.databaseKey = databaseKey }

  /// The position after a key, whether it exists or not.
  package init(after key: String) {
    databaseKey = withUTF8Bytes(of: key) { DatabaseKey().withDatabaseKey($0) { Array($0) } }
  }

  /// Whether the position is among the long keys, stored under digests, which come last.
  var isLong: Bool { databaseKey.first.map { $0 >= DatabaseKey.longMarker } ?? false }
}

/// An entry as stored, for export or display.
// @unchecked: the header refers to no tags, and so to no memory.
@dynamicMemberLookup
package struct EntryRecord: @unchecked Sendable {
  package let entry: CacheEntry
  /// Without its tags.
  let header: RecordHeader
  /// The archived value, transformed if `isTransformed` is set.
  package let stored: Data

  init(entry: CacheEntry, header: RecordHeader, stored: Data) {
    self.entry = entry
    self.header = header
    self.stored = stored
  }

  /// An entry of another cache. It gets a stamp when it is stored.
  ///
  /// - Parameter stored: The archived value, transformed if `isTransformed` is set.
  /// - Throws: `.invalidArgument` for values that no cache can have.
  package init(
    key: String, format: ArchiveFormat, stored: Data, created: UInt32, lastAccess: UInt32, cost: Int,
    expires: Int64 = 0, refresh: Int64 = 0, kept: Int64 = 0, revision: UInt64 = 0, tagHashes: [UInt64] = [],
    uses: UInt8 = 0, isAbsence: Bool = false, isTransformed: Bool = false
  ) throws(CacheError) {
    try DiskStore.checkLengths(key, key.utf8.count, stored.count)
    guard cost >= 0 else { throw CacheError(.invalidArgument, "A cost is not negative; \(cost) is.") }
    guard uses <= RecordHeader.maximumUses else {
      throw CacheError(.invalidArgument, "Uses are counted to \(RecordHeader.maximumUses), and \(uses) are given.")
    }
    let tags = try EntryTags.make(hashes: tagHashes)
    var header = RecordHeader(format: format, expires: expires, now: created, cost: cost)
    header.lastAccess = lastAccess
    (header.refresh, header.kept, header.revision, header.uses) = (refresh, kept, revision, uses)
    if isAbsence { header.flags.insert(.absence) }
    if isTransformed { header.flags.insert(.transformed) }
    header.tags = tags?.hashes
    entry = withExtendedLifetime(tags) { CacheEntry(key, header, size: stored.count) }
    self.header = header.detached
    self.stored = stored
  }

  /// The fields of the header, such as ``RecordHeader/expires``.
  package subscript<Field>(dynamicMember field: KeyPath<RecordHeader, Field>) -> Field { header[keyPath: field] }

  package var key: String { entry.key }
  package var size: Int { entry.key.utf8.count + stored.count }
  /// Tags themselves are not stored.
  package var tagHashes: [UInt64] { entry.tags.map { Array($0.hashes) } ?? [] }
  /// Whether it records, for loads, that no value exists.
  package var isAbsence: Bool { header.flags.contains(.absence) }
  /// Whether the value went through transforms, such as compression.
  package var isTransformed: Bool { header.flags.contains(.transformed) }
  /// Whether it has expired even for loads at `now`, in nanoseconds since 1970.
  package func isOver(at now: Int64) -> Bool { header.isOver(at: now) }
  /// Whether the value is in the value log.
  package var isLogged: Bool { header.flags.contains(.pointer) }
}
