import Foundation
import LMDB
import Platform
import Synchronization

/// Reads the newest record under a key, committed or not, whose value may be in the value log or transformed.
///
/// Each cache on a store has its own reader, for its transforms. Threads: any.
final class RecordReader: Sendable {
  let journal: Journal
  let database: EntryDatabase
  let values: ValueReader
  let transforms: ValueTransforms
  private let recency: RecencyTable
  private let clock: CacheClock

  init(
    _ journal: Journal, _ database: EntryDatabase, _ values: ValueReader, _ transforms: ValueTransforms,
    _ recency: RecencyTable
  ) {
    self.journal = journal
    self.database = database
    self.values = values
    self.transforms = transforms
    self.recency = recency
    clock = journal.clock
  }

  func reader(through transforms: ValueTransforms) -> RecordReader {
    RecordReader(journal, database, values, transforms, recency)
  }

  @inline(__always)
  var counters: DiskCounters { database.counters }

  /// Calls `body` with the live record under `key`, and a copy of its value that is valid during the call.
  func read<R>(_ key: CacheKey, _ body: (StoredRecord<ByteView>) throws(CacheError) -> R) throws(CacheError) -> R? {
    // Most values fit on the stack; longer copies are allocated.
    try withStackBytes(1024) { (scratch) throws(CacheError) -> R? in
      var long = OwnedBytes()
      defer { withExtendedLifetime(long) {} }
      let found = try copyRecord(key) { payload -> Int in
        if payload.count > scratch.count { long.copy(payload) } else { scratch.copy(payload) }
        return payload.count
      }
      guard let found else { return nil }
      let bytes = found.payload > scratch.count ? long.bytes : ByteView(scratch[..<found.payload])
      guard let record = try verified(found, bytes, key) else { return nil }
      if record.header.flags.isDisjoint(with: [.pointer, .transformed]) { return try body(record) }
      guard let value = try value(of: record, key) else {
        return try isReplaced(record.header, key) ? read(key, body) : nil
      }
      return try value.withBytes { (bytes) throws(CacheError) in try body(record.replacingPayload(with: bytes)) }
    }
  }

  func readData(_ key: CacheKey) throws(CacheError) -> StoredRecord<Data>? {
    // Kept outside of the record, which so stays trivial, and not as `Data` before the return: passing and accessing
    // `Data` is a large part of a hit's cost.
    var copy = OwnedBytes()
    guard let found = try copyRecord(key, copy: { copy.copy($0) }), let record = try verified(found, copy.bytes, key)
    else { return nil }
    if record.header.flags.isDisjoint(with: [.pointer, .transformed]) {
      return record.replacingPayload(with: copy.takeData())
    }
    guard let value = try value(of: record, key) else {
      return try isReplaced(record.header, key) ? readData(key) : nil
    }
    return record.replacingPayload(with: value)
  }

  /// Whether a value is missing because its entry was rewritten or moved, so that the record must be read again.
  func isReplaced(_ header: RecordHeader, _ key: CacheKey) throws(CacheError) -> Bool {
    guard header.flags.contains(.pointer), let current = try self.header(key) else { return false }
    return !current.header.isSameRecord(as: header)
  }

  /// Verifies a copy's checksum, expiry and tags, and notes the access.
  @inline(__always)
  func verified<P>(
    _ found: StoredRecord<P>, _ payload: ByteView, _ key: CacheKey
  ) throws(CacheError) -> StoredRecord<ByteView>? {
    guard found.header.isIntact(headerHash: found.headerHash, payload: payload) else {
      throw database.corrupted(key.string)
    }
    var isGone = found.header.expires != 0 && found.header.isExpired(at: clock.now)
    if !isGone, let tags = found.tags { isGone = try isRemoved(tags, writtenAt: found.header.stamp) }
    if isGone {
      counters.misses.increment()
      return nil
    }
    noteAccess(key, found.header)
    return StoredRecord(
      header: found.header, tags: found.tags, headerHash: 0, payload: payload, validated: found.validated)
  }

  @inline(__always)
  func noteAccess(_ key: CacheKey, _ header: RecordHeader) {
    recency.note(key.string, recorded: header.lastAccess, now: RecordHeader.seconds(clock.coarseNow))
    counters.hits.increment()
  }

  /// Copies the newest record of `key` from the journal or the database. Counts a miss.
  @inline(__always)
  private func copyRecord<P>(_ key: CacheKey, copy: (ByteView) -> P) throws(CacheError) -> StoredRecord<P>? {
    let record = try findRecord(key, copy: copy)
    if record == nil { counters.misses.increment() }
    return record
  }

  @inline(__always)
  private func findRecord<P>(_ key: CacheKey, copy: (ByteView) -> P) throws(CacheError) -> StoredRecord<P>? {
    var found: StoredRecord<P>??
    if journal.hasPending.load(ordering: .acquiring) {
      var old: UInt64 = 0
      found = try withPendingRecord(key, &old) { record, position in
        outcome { () throws(CacheError) in try database.parse(record, key, position, copy) }
      }
      if old > 0, let committed = try database.header(key), committed.header.stamp > old { found = nil }
      if case .some(.some(let waiting)) = found, let tags = waiting.tags,
        try isRemoved(tags, writtenAt: waiting.header.stamp)
      {
        // The database may have another process's later write; the pending write replaced anything older.
        let committed = try database.record(key, copy: copy)
        found = .some(committed.flatMap { $0.header.stamp > waiting.header.stamp ? $0 : nil })
      }
    }
    let record = if let found { found } else { try database.record(key, copy: copy) }
    if let record { try requireTransforms(record.header, key) }
    return record
  }

  /// The record under `key` with its value, even if expired but kept for loads. Counts no hit, miss or access.
  func keptRecord(_ key: CacheKey) throws(CacheError) -> StoredRecord<Data>? {
    guard let found = try findRecord(key, copy: { Data($0) }) else { return nil }
    if found.header.isOver(at: clock.now) { return nil }
    if let tags = found.tags, try isRemoved(tags, writtenAt: found.header.stamp) { return nil }
    if let record = try restored(found, key) { return record }
    return try isReplaced(found.header, key) ? keptRecord(key) : nil
  }

  /// Verifies a record's checksum, and replaces a logged or transformed value; `nil` if its segment is gone.
  private func restored(_ record: StoredRecord<Data>, _ key: CacheKey) throws(CacheError) -> StoredRecord<Data>? {
    try record.payload.withBytes { (bytes) throws(CacheError) -> StoredRecord<Data>? in
      guard record.header.isIntact(headerHash: record.headerHash, payload: bytes) else {
        throw database.corrupted(key.string)
      }
      if record.header.flags.isDisjoint(with: [.pointer, .transformed]) { return record }
      return try value(of: record.replacingPayload(with: bytes), key).map { record.replacingPayload(with: $0) }
    }
  }

  /// - Throws: `.untransformed` for a plain value that must be transformed.
  @inline(__always)
  func requireTransforms(_ header: RecordHeader, _ key: CacheKey) throws(CacheError) {
    if transforms.isRequired, !header.flags.contains(.transformed) { throw transforms.untransformed(key.string) }
  }

  /// Calls `body` with an uncommitted record. Returns `nil` if the database must be asked, and `.some(nil)` for a
  /// removal.
  ///
  /// - Parameter old: Set to the stamp of a dead process's write: the database may have a later one.
  @inline(__always)
  private func withPendingRecord<R>(
    _ key: CacheKey, _ old: inout UInt64, _ body: (ByteView, UInt64) -> Result<R?, CacheError>
  ) throws(CacheError) -> R?? {
    journal.lock.lock()
    defer { journal.lock.unlock() }
    if journal.state.gate.isEnded { throw .closed }
    let position = database.foreignPosition
    if journal.state.unreplayed != nil { old = journal.unreplayedStamp(key, position: position) }
    switch journal.lookup(key, position: position) {
    case .unknown: return nil
    case .removed: return .some(nil)
    case .found(let frame): return .some(try body(frame.record, position).get())
    }
  }

  /// The header under `key` and the position of the read, without verifying the checksum.
  func header(_ key: CacheKey) throws(CacheError) -> StoredHeader? {
    try newest(key) { record, position in
      .success(RecordHeader(record).map { StoredHeader($0, validated: position) })
    } committed: { () throws(CacheError) in
      try database.header(key)
    } facts: {
      ($0.header.stamp, $0.tags)
    }
  }

  /// The live entry under `key`, without its value.
  func entry(_ key: CacheKey) throws(CacheError) -> CacheEntry? {
    try newest(key) { record, _ in
      outcome { () throws(CacheError) in try entry(key, record) }
    } committed: { () throws(CacheError) in
      try database.borrowRecord(key) { record in outcome { () throws(CacheError) in try entry(key, record) } }?.get()
    } facts: {
      ($0.version.stamp, $0.tags)
    }
  }

  /// What a pending or committed record gives that is not removed by a tag.
  private func newest<T>(
    _ key: CacheKey, pending: (ByteView, UInt64) -> Result<T?, CacheError>,
    committed: () throws(CacheError) -> T?, facts: (T) -> (stamp: UInt64, tags: EntryTags?)
  ) throws(CacheError) -> T? {
    var found: T??
    if journal.hasPending.load(ordering: .acquiring) {
      var old: UInt64 = 0
      found = try withPendingRecord(key, &old, pending)
      if old > 0, let committed = try database.header(key), committed.header.stamp > old { found = nil }
    }
    if found == nil { found = .some(try committed()) }
    guard case .some(.some(let first)) = found else { return nil }
    guard let tags = facts(first).tags, try isRemoved(tags, writtenAt: facts(first).stamp) else { return first }
    // If the removed entry is uncommitted, the database may have a later one.
    guard let later = try committed(), facts(later).stamp > facts(first).stamp else { return nil }
    if let tags = facts(later).tags, try isRemoved(tags, writtenAt: facts(later).stamp) { return nil }
    return later
  }

  /// Whether an entry was removed by one of its tags. Call it after reading the record, to see every removal that
  /// returned before the read.
  func isRemoved(_ tags: EntryTags, writtenAt stamp: UInt64) throws(CacheError) -> Bool {
    journal.tagRemovals.noteUse()
    // In this order, because writes move from the journal to the database.
    if journal.isRemoved(tags, writtenAt: stamp) { return true }
    return try database.isRemoved(tags, writtenAt: stamp)
  }

  private func entry(_ key: CacheKey, _ record: ByteView) throws(CacheError) -> CacheEntry? {
    guard let header = RecordHeader(record) else { throw database.unreadable(record, key.string) }
    guard header.belongs(to: key.utf8, in: record), !header.isExpired(at: clock.now) else { return nil }
    return CacheEntry(key.string, header, record)
  }

  // MARK: In a snapshot

  /// Reads from a snapshot, without counting an access.
  func readData(_ key: CacheKey, in txn: borrowing ReadTransaction) throws(CacheError) -> StoredRecord<Data>? {
    guard let record = try database.record(key, in: txn, copy: { Data($0) }) else { return nil }
    try requireTransforms(record.header, key)
    if record.header.isExpired(at: clock.now) { return nil }
    if let tags = record.tags, try isRemoved(tags, writtenAt: record.header.stamp, in: txn) { return nil }
    return try restored(record, key)
  }

  private func isRemoved(
    _ tags: EntryTags, writtenAt stamp: UInt64, in txn: borrowing ReadTransaction
  ) throws(CacheError) -> Bool {
    try database.accessing("Reading a snapshot of \(database.directoryName)") {
      try EntryDatabase.isRemoved(tags.hashes, writtenAt: stamp, in: txn)
    }
  }

  /// Calls `body` at most once with the value's bytes, in place in the map if they are committed.
  func borrowBytes(_ key: CacheKey, _ body: (RawSpan) -> Void) throws(CacheError) {
    var isElsewhere = journal.hasPending.load(ordering: .acquiring)
    if isElsewhere {
      // A pending record moves when it is committed, and must be copied under the lock.
      // `readData` compares it with the database.
      var old: UInt64 = 0
      let pending: Void?? = try withPendingRecord(key, &old) { _, _ in .success(()) }
      isElsewhere = pending != nil
    }
    var isFound = false
    if !isElsewhere {
      let failure = try database.borrowRecord(key) { bytes -> CacheError? in
        guard let header = RecordHeader(bytes), header.keyLength == 0, !transforms.isRequired,
          !header.flags.contains(.transformed), !header.hasTags
        else {
          isElsewhere = true
          return nil
        }
        guard header.isIntact(bytes, key: key.utf8) else { return database.corrupted(key.string) }
        if header.expires != 0, header.isExpired(at: clock.now) { return nil }
        if let pointer = ValuePointer(in: bytes, header) {
          do throws(SystemError) {
            switch try values.withValue(pointer, { unsafe body($0.buffer.bytes) }) {
            case .value: break
            case .missing: return nil
            case .damaged: return database.corrupted(key.string)
            }
          } catch {
            return CacheError(error, during: Self.readingValue(key.string))
          }
        } else {
          unsafe body(header.payload(of: bytes).buffer.bytes)
        }
        recency.note(key.string, recorded: header.lastAccess, now: RecordHeader.seconds(clock.coarseNow))
        isFound = true
        return nil
      }
      if case .some(.some(let failure)) = failure { throw failure }
    }
    if isElsewhere {
      // Copy if it is pending, transformed, tagged, under a digest, or not in memory. `readData` counts the access.
      if let record = try readData(key) { record.payload.withBytes { unsafe body($0.buffer.bytes) } }
    } else if isFound {
      counters.hits.increment()
    } else {
      counters.misses.increment()
    }
  }

  /// A logged or transformed value. Returns `nil` if its segment is gone.
  func value(of record: StoredRecord<ByteView>, _ key: CacheKey) throws(CacheError) -> Data? {
    guard record.header.flags.contains(.pointer) else {
      return try transforms.restore(record.payload, record.header, record.tags, key)
    }
    let contents = try calling(Self.readingValue(key.string)) { try values.read(ValuePointer(record.payload)) }
    guard case .value(let value) = contents else {
      if case .damaged = contents { throw database.corrupted(key.string) }
      // Replaced, moved or removed since the record was read.
      return nil
    }
    guard record.header.flags.contains(.transformed) else { return value }
    return try value.withBytes { (bytes) throws(CacheError) in
      try transforms.restore(bytes, record.header, record.tags, key)
    }
  }

  private static func readingValue(_ key: String) -> String { "Reading the value of \(quoted(key))" }
}

/// Accesses not yet written to their records. Reads write nothing; the table is flushed in batches.
final class RecencyTable: Sendable {
  /// An access is noted when the recorded one is this many seconds older.
  static let granularity: UInt32 = 60
  /// Accesses are dropped while there are so many, which bounds the writes that reads can cause.
  static let maximum = 16_384

  private let accesses = Mutex<[ByteKey: UInt32]>([:])
  /// Lets reads skip the lock.
  private let isFull = Atomic<Bool>(false)

  @inline(__always)
  func note(_ key: String, recorded: UInt32, now: UInt32) {
    if now > recorded &+ Self.granularity, !isFull.load(ordering: .relaxed) { insert(key, now) }
  }

  @inline(never)
  private func insert(_ key: String, _ now: UInt32) {
    accesses.withLock { accesses in
      accesses[ByteKey(key)] = now
      if accesses.count == Self.maximum { isFull.store(true, ordering: .relaxed) }
    }
  }

  var isEmpty: Bool { accesses.withLock { $0.isEmpty } }

  func lastAccess(of key: String) -> UInt32? { accesses.withLock { $0[ByteKey(key)] } }

  func drain() -> [ByteKey: UInt32] {
    accesses.withLock { accesses in
      defer {
        accesses = [:]
        isFull.store(false, ordering: .relaxed)
      }
      return accesses
    }
  }
}
