import LMDB
import Platform

/// The acknowledged writes in journals that a state of the database lacks: from live processes before their next
/// commit, or from dead ones before a replay.
///
/// They overlay the database as a replay would apply them (``PeerRecovery``): never an older write over a newer one,
/// and nothing from before a removal of everything.
struct PendingWrites {
  struct Entry {
    let stamp: UInt64
    let isRemoval: Bool
    fileprivate let journal: Int32
    fileprivate let frame: Int32
    fileprivate let keyLength: Int32
    fileprivate let keyStart: Int

    fileprivate var key: Range<Int> { keyStart..<keyStart + Int(keyLength) }
  }

  /// The transaction of the database's state.
  let transactionID: UInt64
  /// Unique, in database key order.
  private(set) var entries: [Entry] = []
  private(set) var count = 0
  private(set) var clearStamp: UInt64 = 0
  private(set) var prefixes: [HiddenKeys.Prefix] = []
  private(set) var tags: [UInt64: UInt64] = [:]
  /// The journals read, whose files must remain for this to stay valid.
  private(set) var journals: [JournalImage] = []
  /// The database keys, concatenated.
  private var keys: [UInt8] = []

  /// No pending writes.
  init(transactionID: UInt64) { self.transactionID = transactionID }

  /// - Parameters:
  ///   - images: Read before the state became the last one.
  ///   - isIntact: Whether a value is where its pointer says; gets the journal's identifier.
  init(
    _ images: [JournalImage], _ cursor: UnmappedCursor, transactionID: UInt64, clearedAt cleared: UInt64,
    _ databaseKey: DatabaseKey, isIntact: (ValuePointer, UInt64) throws(ReadingFailure) -> Bool
  ) throws(ReadingFailure) {
    self.transactionID = transactionID
    for journal in images {
      var frames = journal.frames(after: try Self.committedStamp(of: journal.identifier, cursor))
      var missing: Set<Int> = []
      for index in frames {
        guard let pointer = journal.pointers[index], try !isIntact(pointer, journal.identifier) else { continue }
        missing.insert(index)
        if !journal.isOfThisRun { break }
      }
      if let first = missing.first, !journal.isOfThisRun { Self.cutOff(&frames, of: journal, at: first) }
      if frames.isEmpty { continue }
      journals.append(journal)
      count += frames.count
      for index in frames {
        add(index, of: journal, isValueMissing: missing.contains(index), clearedAt: cleared, databaseKey)
      }
    }
    sortEntries()
  }

  private static func committedStamp(
    of journal: UInt64, _ cursor: UnmappedCursor
  ) throws(ReadingFailure) -> UInt64 {
    try WriteSession.committedStampKey(journal).withBytes { (key) throws(ReadingFailure) in
      try fromDatabase { () throws(DataFileError) in
        guard let bytes = try cursor.find(key)?.bytes(), bytes.count == 8 else { return 0 }
        return bytes.loadUnaligned(as: UInt64.self)
      }
    }
  }

  /// Drops the frames from the first one lost to a power cut, as a replay does.
  private static func cutOff(_ frames: inout [Int], of journal: JournalImage, at lost: Int) {
    var end = frames.firstIndex(of: lost)!
    while end > 0, journal.frames[frames[end - 1]].isContinued { end -= 1 }
    frames.removeSubrange(end...)
  }

  private mutating func add(
    _ index: Int, of journal: JournalImage, isValueMissing: Bool, clearedAt cleared: UInt64, _ databaseKey: DatabaseKey
  ) {
    let frame = journal.frames[index]
    switch frame.operation {
    // Another process removed everything after this write.
    case .put where frame.stamp <= cleared: return
    case .put, .remove:
      let start = keys.count
      journal.withKey(of: frame) { databaseKey.withDatabaseKey($0) { keys += $0 } }
      entries.append(
        Entry(
          stamp: frame.stamp, isRemoval: frame.operation == .remove || isValueMissing,
          journal: Int32(journals.count - 1),
          frame: Int32(index), keyLength: Int32(keys.count - start), keyStart: start))
    case .removePrefix:
      prefixes.append(HiddenKeys.Prefix(bytes: journal.withKey(of: frame) { Array($0) }, stamp: frame.stamp))
    case .removeTag:
      tags[journal.tag(of: frame)] = max(tags[journal.tag(of: frame)] ?? 0, frame.stamp)
    // Already applied; later writes did not see this removal.
    case .removeAll where frame.stamp <= cleared: return
    case .removeAll: clearStamp = max(clearStamp, frame.stamp)
    }
  }

  /// Sorts by key, and keeps only the newest write of each.
  private mutating func sortEntries() {
    let unsorted = entries
    entries = keys.withUnsafeBytes { keys in
      func key(_ entry: Entry) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: keys[entry.key]) }
      var sorted = unsorted
      sorted.sort { first, second in
        if key(first).precedes(key(second)) { return true }
        return key(second).precedes(key(first)) ? false : first.stamp < second.stamp
      }
      var newest: [Entry] = []
      for (index, entry) in sorted.enumerated() {
        if index + 1 < sorted.count, key(entry).elementsEqual(fast: key(sorted[index + 1])) { continue }
        newest.append(entry)
      }
      return newest
    }
  }

  // MARK: By keys of the database

  func index(atOrAfter key: UnsafeRawBufferPointer) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if withKey(of: middle, { $0.precedes(key) }) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func entry(_ key: UnsafeRawBufferPointer) -> Entry? {
    if entries.isEmpty { return nil }
    let index = index(atOrAfter: key)
    guard index < entries.count, withKey(of: index, { $0.elementsEqual(fast: key) }) else { return nil }
    return entries[index]
  }

  func withKey<R, E: Error>(
    of index: Int, _ body: (UnsafeRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try keys.withBytes { (keys) throws(E) in try body(UnsafeRawBufferPointer(rebasing: keys[entries[index].key])) }
  }

  /// Reads the record that an entry puts.
  ///
  /// - Throws: `.passed` if it has been committed.
  func record(of entry: Entry) throws(ReadingFailure) -> [UInt8] {
    let journal = journals[Int(entry.journal)]
    let record = try fromFiles { () throws(SystemError) in try journal.record(of: journal.frames[Int(entry.frame)]) }
    guard let record else { throw .passed(journal: journal.identifier) }
    return record
  }

  /// Whether a removal of many entries hides a record.
  func hides(_ header: RecordHeader, under cacheKey: UnsafeRawBufferPointer) -> Bool {
    if clearStamp > 0, header.gives(wayTo: clearStamp) { return true }
    if prefixes.contains(where: { header.gives(wayTo: $0.stamp) && cacheKey.starts(with: $0.bytes) }) { return true }
    guard !tags.isEmpty, let own = header.tags else { return false }
    return own.contains { tags[$0] ?? 0 > header.stamp }
  }
}
