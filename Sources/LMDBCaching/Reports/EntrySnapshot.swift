package import Foundation
import LMDB
import Platform

/// One state of a cache: the committed entries, overlaid with journaled writes. Valid in the body of
/// ``CacheReader/look(_:_:)``.
final class EntrySnapshot {
  let file: UnmappedSnapshot
  let pending: PendingWrites
  /// The number of earlier attempts, after which reads should be smaller.
  let attempt: Int
  private let databaseKey: DatabaseKey
  private let now: Int64
  private let cursor: UnmappedCursor
  /// For the cache's internal records, so that `cursor` keeps its place.
  private let ownCursor: UnmappedCursor
  private var knownTagStatus: TagStatus?
  private var knownClearStamp: UInt64?

  init(
    _ file: UnmappedSnapshot, _ pending: PendingWrites, _ ownCursor: UnmappedCursor, _ databaseKey: DatabaseKey,
    at now: Int64, attempt: Int
  ) throws(ReadingFailure) {
    self.attempt = attempt
    self.file = file
    self.pending = pending
    self.ownCursor = ownCursor
    self.databaseKey = databaseKey
    self.now = now
    cursor = try fromDatabase { () throws(DataFileError) in try UnmappedCursor(file) }
  }

  // MARK: One entry

  /// Calls `body` with the newest record under a key, if it is selected.
  ///
  /// - Throws: `.unsupportedRecord` or `.corruptedRecord` for an unreadable one.
  func find<R>(
    _ key: UnsafeRawBufferPointer, _ selection: EntrySelection = .live,
    _ body: (FoundRecord) throws(ReadingFailure) -> R
  ) throws(ReadingFailure) -> R? {
    try databaseKey.withDatabaseKey(key) { (databaseKey) throws(ReadingFailure) -> R? in
      let value = try fromDatabase { () throws(DataFileError) in try cursor.find(databaseKey) }
      let entry = pending.entry(databaseKey)
      var result: R?
      let committed = try value.flatMap { (value) throws(ReadingFailure) in try FoundRecord(databaseKey, value) }
      if let value, entry == nil, committed == nil {
        let record = try fromDatabase { () throws(DataFileError) in try value.beginning(RecordHeader.baseSize) }
        throw .cache(.unreadable(record, String(utf8: key)))
      }
      try newest(databaseKey, committed, entry) { (found) throws(ReadingFailure) in
        // Another key may have the same digest.
        if found.key.elementsEqual(fast: key), try isShown(found, selection) { result = try body(found) }
      }
      return result
    }
  }

  // MARK: Many

  /// Calls `body` with the records whose keys start with `prefix`, in database order, until it returns `false`.
  ///
  /// - Parameters:
  ///   - limit: The number of records to examine, at least one.
  ///   - onUnreadable: Called with the database key and first bytes of a record of another version.
  /// - Returns: Where to continue; `nil` at the end.
  func scan(
    _ prefix: UnsafeRawBufferPointer, after place: EntryPlace?, limit: Int, _ selection: EntrySelection,
    onUnreadable: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void = { _, _ in },
    _ body: (FoundRecord) throws(ReadingFailure) -> Bool
  ) throws(ReadingFailure) -> EntryPlace? {
    var left = limit
    for range in KeyRange.ranges(ofPrefix: prefix) where range.isLong || place.map({ !$0.isLong }) ?? true {
      // A place before this range does not restrict it.
      let after = place.flatMap {
        $0.isLong == range.isLong && !$0.databaseKey.lexicographicallyPrecedes(range.start) ? $0.databaseKey : nil
      }
      var (committed, waiting) = try start(range, after)
      while true {
        if let entry = committed, !range.contains(entry.key) { committed = nil }
        if waiting < pending.entries.count, !pending.withKey(of: waiting, range.contains) {
          waiting = pending.entries.count
        }
        let hasWaiting = waiting < pending.entries.count
        guard committed != nil || hasWaiting else { break }
        let order = hasWaiting ? pending.withKey(of: waiting) { Self.order(committed?.key, $0) } : -1
        let goesOn: Bool
        let last: [UInt8]?
        left -= 1
        if order > 0 {
          (goesOn, last) = try pending.withKey(of: waiting) { (key) throws(ReadingFailure) in
            let goesOn = try visit(key, nil, pending.entries[waiting], prefix, selection, body)
            return (goesOn, goesOn && left > 0 ? nil : Array(key))
          }
        } else {
          let entry = committed!
          let found = try FoundRecord(entry.key, entry.value)
          if order < 0, found == nil {
            let record = try fromDatabase { () throws(DataFileError) in try entry.value.beginning(RecordHeader.baseSize)
            }
            onUnreadable(entry.key, record)
          }
          goesOn = try visit(entry.key, found, order == 0 ? pending.entries[waiting] : nil, prefix, selection, body)
          last = goesOn && left > 0 ? nil : Array(entry.key)
        }
        if let last { return EntryPlace(databaseKey: last) }
        if order <= 0 { committed = try fromDatabase { () throws(DataFileError) in try cursor.next() } }
        if order >= 0 { waiting += 1 }
      }
    }
    return nil
  }

  /// The first entries of a range, or the first ones after a key in it.
  private func start(
    _ range: KeyRange, _ after: [UInt8]?
  ) throws(ReadingFailure) -> (committed: UnmappedCursor.Entry?, waiting: Int) {
    try (after ?? range.start).withBytes { (key) throws(ReadingFailure) in
      var committed = try fromDatabase { () throws(DataFileError) in
        key.isEmpty ? try cursor.first() : try cursor.seek(toKeyAtOrAfter: key)
      }
      var waiting = pending.index(atOrAfter: key)
      guard after != nil else { return (committed, waiting) }
      if let entry = committed, entry.key.elementsEqual(fast: key) {
        committed = try fromDatabase { () throws(DataFileError) in try cursor.next() }
      }
      if waiting < pending.entries.count, pending.withKey(of: waiting, { $0.elementsEqual(fast: key) }) { waiting += 1 }
      return (committed, waiting)
    }
  }

  /// Negative if the first key comes first; `nil` comes last.
  private static func order(_ first: UnsafeRawBufferPointer?, _ second: UnsafeRawBufferPointer) -> Int {
    guard let first else { return 1 }
    return first.precedes(second) ? -1 : second.precedes(first) ? 1 : 0
  }

  private func visit(
    _ databaseKey: UnsafeRawBufferPointer, _ committed: FoundRecord?, _ entry: PendingWrites.Entry?,
    _ prefix: UnsafeRawBufferPointer, _ selection: EntrySelection,
    _ body: (FoundRecord) throws(ReadingFailure) -> Bool
  ) throws(ReadingFailure) -> Bool {
    var goesOn = true
    try newest(databaseKey, committed, entry) { (found) throws(ReadingFailure) in
      if found.key.hasPrefix(prefix), try isShown(found, selection) { goesOn = try body(found) }
    }
    return goesOn
  }

  // MARK: The newest of two records

  /// Calls `body` with the newer of the two records, unless it is a removal.
  private func newest(
    _ databaseKey: UnsafeRawBufferPointer, _ committed: FoundRecord?, _ entry: PendingWrites.Entry?,
    _ body: (FoundRecord) throws(ReadingFailure) -> Void
  ) throws(ReadingFailure) {
    if let entry, pending.replaces(committed?.header, by: entry, clearedAt: try clearStamp()) {
      if entry.isRemoval { return }
      if let found = FoundRecord(databaseKey, waiting: entry.frame.record) { try body(found) }
    } else if let committed {
      try body(committed)
    }
  }

  private func isShown(_ found: FoundRecord, _ selection: EntrySelection) throws(ReadingFailure) -> Bool {
    let header = found.header
    if pending.removes(header, under: found.key, clearedAt: try clearStamp()) { return false }
    if !selection.shows(header, at: now) { return false }
    return try !isRemovedByTag(header, isWaiting: found.isWaiting)
  }

  /// The change in count and cost by journaled writes; `nil` if only a scan could tell.
  func pendingChange() throws(ReadingFailure) -> (entries: Int, cost: Int128)? {
    // Entries removed by tag count until upkeep deletes them.
    guard pending.clearStamp == 0, pending.prefixes.isEmpty, attempt < 16 else { return nil }
    var change: (entries: Int, cost: Int128) = (0, 0)
    for index in pending.entries.indices {
      let entry = pending.entries[index]
      try pending.withKey(of: index) { (key) throws(ReadingFailure) in
        let value = try fromDatabase { () throws(DataFileError) in try cursor.find(key) }
        let committed = try value.flatMap { (value) throws(ReadingFailure) in try FoundRecord(key, value) }?.header
        guard pending.replaces(committed, by: entry, clearedAt: try clearStamp()) else { return }
        if let committed {
          change.entries -= 1
          change.cost -= Int128(committed.cost)
        }
        if entry.isRemoval { return }
        change.entries += 1
        change.cost += Int128(RecordHeader(entry.frame.record)?.cost ?? 0)
      }
    }
    return change
  }

  // MARK: The cache's own records

  func metadata() throws(ReadingFailure) -> CacheMetadata.Reading? {
    try ownRecord(CacheMetadata.key) { CacheMetadata.read($0) }
  }

  private func clearStamp() throws(ReadingFailure) -> UInt64 {
    if let knownClearStamp { return knownClearStamp }
    var stamp: UInt64 = 0
    if case .metadata(let metadata)? = try metadata() { stamp = metadata.clearStamp }
    knownClearStamp = stamp
    return stamp
  }

  private func isRemovedByTag(_ header: RecordHeader, isWaiting: Bool) throws(ReadingFailure) -> Bool {
    guard let tags = header.tags else { return false }
    let status = try tagStatus()
    if header.stamp > status.last { return false }
    if isWaiting, header.stamp <= status.forgotten { return true }
    for hash in tags {
      let removal = try ownRecord(TagStatus.key(ofTag: hash)) { TagStatus.stamp($0) } ?? 0
      if removal > header.stamp { return true }
    }
    return false
  }

  private func tagStatus() throws(ReadingFailure) -> TagStatus {
    if let knownTagStatus { return knownTagStatus }
    let status = try ownRecord(TagStatus.key) { TagStatus($0) } ?? TagStatus()
    knownTagStatus = status
    return status
  }

  private func ownRecord<R>(
    _ key: [UInt8], _ body: (UnsafeRawBufferPointer) -> R
  ) throws(ReadingFailure) -> R? {
    try key.withBytes { (key) throws(ReadingFailure) in
      try fromDatabase { () throws(DataFileError) in
        guard let value = try ownCursor.find(key) else { return nil }
        return body(try value.bytes())
      }
    }
  }

  /// The usage of the value log, by segment.
  func valueUsage() throws(ReadingFailure) -> [UInt64: SegmentUsage] {
    try SegmentUsage.keyPrefix.withBytes { (prefix) throws(ReadingFailure) in
      try fromDatabase { () throws(DataFileError) in
        var usage: [UInt64: SegmentUsage] = [:]
        var position = try ownCursor.seek(toKeyAtOrAfter: prefix)
        while let entry = position, let segment = SegmentUsage.segment(ofKey: entry.key) {
          usage[segment] = SegmentUsage(try entry.value.bytes())
          position = try ownCursor.next()
        }
        return usage
      }
    }
  }
}

/// An entry as stored, for export or display.
// @unchecked: the header refers to no tags, and so to no memory.
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

  package var key: String { entry.key }
  package var size: Int { entry.key.utf8.count + stored.count }
  package var format: ArchiveFormat { header.format }

  // Times are nanoseconds since 1970.

  /// 0: never.
  package var expires: Int64 { header.expires }
  /// When a read through a loader reloads it before its expiry; 0: never.
  package var refresh: Int64 { header.refresh }
  /// Until when loads keep it after its expiry; 0: not kept.
  package var kept: Int64 { header.kept }

  /// The remote tier's revision; 0: none.
  package var revision: UInt64 { header.revision }
  /// Identifies the write. Stamps order the writes of one directory.
  package var stamp: UInt64 { header.stamp }
  /// Seconds since 1970, like ``lastAccess``.
  package var created: UInt32 { header.created }
  package var lastAccess: UInt32 { header.lastAccess }
  /// Tags themselves are not stored.
  package var tagHashes: [UInt64] { entry.tags.map { Array($0.hashes) } ?? [] }
  /// The number of repeated uses, at most 3.
  package var uses: UInt8 { header.uses }
  /// Whether it records, for loads, that no value exists.
  package var isAbsence: Bool { header.flags.contains(.absence) }
  /// Whether the value went through transforms, such as compression.
  package var isTransformed: Bool { header.flags.contains(.transformed) }
  /// Whether it has expired even for loads at `now`, in nanoseconds since 1970.
  package func isOver(at now: Int64) -> Bool { header.isOver(at: now) }
  /// Whether the value is in the value log.
  package var isLogged: Bool { header.flags.contains(.pointer) }
}

/// A record at the reader's position, valid until it moves on.
struct FoundRecord {
  /// Enough for the longest header with the most tags, and some more.
  private static let firstPart = 1_024

  let header: RecordHeader
  /// The cache's key.
  let key: UnsafeRawBufferPointer
  /// Whether the record is from a journal.
  let isWaiting: Bool
  /// At least the header, the key, and the pointer, if any.
  private let beginning: UnsafeRawBufferPointer
  private let value: UnmappedValue?

  /// A committed record. Returns `nil` for another version's.
  init?(_ databaseKey: UnsafeRawBufferPointer, _ value: UnmappedValue) throws(ReadingFailure) {
    var beginning = try fromDatabase { () throws(DataFileError) in try value.beginning(Self.firstPart) }
    guard var header = RecordHeader(beginning: beginning, size: value.size) else { return nil }
    if Self.needed(header) > beginning.count {
      beginning = try fromDatabase { [header] () throws(DataFileError) in try value.beginning(Self.needed(header)) }
      // The page may have been overwritten in between, and so hold another header.
      guard let again = RecordHeader(beginning: beginning, size: value.size), Self.needed(again) <= beginning.count
      else { return nil }
      header = again
    }
    guard let key = DatabaseKey.key(ofDatabaseKey: databaseKey, record: beginning, header: header) else { return nil }
    self.header = header
    self.key = key
    self.beginning = beginning
    self.value = value
    isWaiting = false
  }

  /// The bytes of the header, the key and the pointer.
  private static func needed(_ header: RecordHeader) -> Int {
    header.payloadOffset + (header.flags.contains(.pointer) ? ValuePointer.size : 0)
  }

  /// A whole record from a journal.
  init?(_ databaseKey: UnsafeRawBufferPointer, waiting record: UnsafeRawBufferPointer) {
    guard let header = RecordHeader(record),
      let key = DatabaseKey.key(ofDatabaseKey: databaseKey, record: record, header: header)
    else { return nil }
    self.header = header
    self.key = key
    beginning = record
    value = nil
    isWaiting = true
  }

  /// The value's place, if it is in the value log.
  var pointer: ValuePointer? {
    guard header.flags.contains(.pointer) else { return nil }
    return ValuePointer(UnsafeRawBufferPointer(rebasing: beginning[header.payloadOffset...]))
  }

  /// The value's length, wherever it is stored.
  var valueLength: Int { pointer.map { max(0, $0.length) } ?? header.payloadLength }

  var entry: CacheEntry { CacheEntry(String(utf8: key), header, size: valueLength) }

  func copy() throws(ReadingFailure) -> CopiedRecord {
    guard let value else { return CopiedRecord(key: Array(key), bytes: Array(beginning)) }
    // The next read may overwrite the key.
    let key = Array(key)
    return CopiedRecord(key: key, bytes: Array(try fromDatabase { () throws(DataFileError) in try value.bytes() }))
  }
}

struct CopiedRecord {
  /// The cache's key.
  let key: [UInt8]
  let bytes: [UInt8]

  init(key: [UInt8], bytes: [UInt8]) {
    self.key = key
    self.bytes = bytes
  }

  /// A record without a header of this version.
  ///
  /// - Parameter record: Its first bytes.
  init(unreadable record: UnsafeRawBufferPointer, databaseKey: UnsafeRawBufferPointer) {
    // Only the record holds all of a long key; the database key has its beginning.
    let isLong = databaseKey.first == DatabaseKey.longMarker
    key = Array(isLong ? databaseKey.dropFirst().prefix(DatabaseKey.longPrefixLength) : databaseKey[...])
    // Too short for a valid header, so `completed` throws.
    bytes = Array(record.prefix(RecordHeader.baseSize))
  }

  /// Verifies the checksum, and reads the value.
  ///
  /// - Parameter reading: Reads a value of the value log; returns `nil` if it is missing.
  /// - Returns: `nil` if the value is not where it was.
  /// - Throws: `.corruptedRecord`, `.unsupportedRecord`, or the errors of `reading`.
  func completed(
    reading: (ValuePointer, String) throws(CacheError) -> Data?
  ) throws(CacheError) -> EntryRecord? {
    let key = String(decoding: self.key, as: UTF8.self)
    return try bytes.withBytes { (bytes) throws(CacheError) -> EntryRecord? in
      guard let header = RecordHeader(bytes) else { throw .unreadable(bytes, key) }
      let isIntact = self.key.withBytes { header.isIntact(bytes, key: $0) }
      guard isIntact else { throw .corrupted(key) }
      let entry = CacheEntry(key, header, bytes)
      guard let pointer = ValuePointer(in: bytes, header) else {
        return EntryRecord(entry: entry, header: header.detached, stored: Data(header.payload(of: bytes)))
      }
      return try reading(pointer, key).map { EntryRecord(entry: entry, header: header.detached, stored: $0) }
    }
  }
}
