import LMDB
import Platform

/// The acknowledged writes in journals that a state of the database lacks: from live processes before their next
/// commit, or from dead ones. A replay commits them (``PeerRecovery``), and inspection shows them, by the same rules:
/// never an older write over a newer one, and nothing from before a removal of everything.
struct PendingWrites {
  /// The newest write of a key.
  struct Entry {
    let frame: JournalFrame
    /// Whether the write is a removal, or a put whose value is lost, which still removes the record before it.
    let isRemoval: Bool
    fileprivate let key: Range<Int>

    var stamp: UInt64 { frame.stamp }
  }

  /// Unique, in database key order.
  private(set) var entries: [Entry] = []
  private(set) var count = 0
  private(set) var clearStamp: UInt64 = 0
  private(set) var prefixes: [HiddenKeys.Prefix] = []
  private(set) var tags: [UInt64: UInt64] = [:]
  private(set) var lastStamp: UInt64 = 0
  /// The journals with pending writes, which own the frames.
  private(set) var journals: [JournalImage] = []
  /// The database keys, concatenated.
  private var keys: [UInt8] = []

  init() {}

  /// - Parameters:
  ///   - committed: The stamps up to which the journals are in the database, by their identifiers.
  ///   - isThere: Whether a value is where its pointer says.
  init<E: Error>(
    _ images: [JournalImage], _ databaseKey: DatabaseKey, committed: [UInt64: UInt64],
    isThere: (ValuePointer, JournalImage) throws(E) -> Bool
  ) throws(E) {
    for journal in images {
      var frames = journal.frames(after: committed[journal.identifier] ?? 0)
      var missing: Set<Int> = []
      for index in frames.indices {
        guard let pointer = frames[index].pointer, try !isThere(pointer, journal) else { continue }
        if journal.isOfThisRun {
          missing.insert(index)
        } else {
          Self.cutOff(&frames, at: index)
          break
        }
      }
      if frames.isEmpty { continue }
      journals.append(journal)
      count += frames.count
      for index in frames.indices { add(frames[index], isValueMissing: missing.contains(index), databaseKey) }
    }
    sortEntries()
  }

  /// Drops the frames from one lost to a power cut: later writes must not survive without it.
  private static func cutOff(_ frames: inout [JournalFrame], at index: Int) {
    // A batch is kept as a whole, or not at all.
    var end = index
    while end > 0, frames[end - 1].flags.contains(.batchContinues) { end -= 1 }
    frames.removeSubrange(end...)
  }

  private mutating func add(_ frame: JournalFrame, isValueMissing: Bool, _ databaseKey: DatabaseKey) {
    lastStamp = max(lastStamp, frame.stamp)
    switch frame.operation {
    case .put, .remove:
      let start = keys.count
      databaseKey.withDatabaseKey(frame.key) { keys += $0 }
      entries.append(
        Entry(frame: frame, isRemoval: frame.operation == .remove || isValueMissing, key: start..<keys.count))
    case .removePrefix: prefixes.append(HiddenKeys.Prefix(bytes: Array(frame.key), stamp: frame.stamp))
    case .removeTag: tags[frame.tag] = max(tags[frame.tag] ?? 0, frame.stamp)
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

  /// The segments of the values that the writes refer to.
  var segments: Set<UInt64> { Set(entries.compactMap { $0.isRemoval ? nil : $0.frame.pointer?.segment }) }

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

  // MARK: Who gives way

  /// Whether a write replaces the committed record of its key.
  ///
  /// - Parameter cleared: The stamp of the last committed removal of everything.
  func replaces(_ committed: RecordHeader?, by entry: Entry, clearedAt cleared: UInt64) -> Bool {
    if !entry.isRemoval, entry.stamp <= cleared { return false }
    return committed?.gives(wayTo: entry.stamp) ?? true
  }

  /// Whether a removal of many entries removes a record, committed or not.
  func removes(_ header: RecordHeader, under cacheKey: UnsafeRawBufferPointer, clearedAt cleared: UInt64) -> Bool {
    if clearStamp > cleared, header.gives(wayTo: clearStamp) { return true }
    if prefixes.contains(where: { header.gives(wayTo: $0.stamp) && cacheKey.starts(with: $0.bytes) }) { return true }
    guard !tags.isEmpty, let own = header.tags else { return false }
    return own.contains { tags[$0] ?? 0 > header.stamp }
  }
}

extension WriteSession {
  /// Commits the writes of other processes' journals.
  mutating func apply(_ pending: PendingWrites) throws(LMDBError) {
    let cleared = metadata.clearStamp
    if pending.clearStamp > cleared {
      try removeAll(withPrefix: UnsafeRawBufferPointer(start: nil, count: 0)) { $0.gives(wayTo: pending.clearStamp) }
      metadata.clearStamp = pending.clearStamp
    }
    for removal in pending.prefixes {
      try removal.bytes.withBytes { (prefix) throws(LMDBError) in
        try removeAll(withPrefix: prefix) { $0.gives(wayTo: removal.stamp) }
      }
    }
    for (tag, stamp) in pending.tags { try removeAll(tag: tag, stamp: stamp) }
    for (index, entry) in pending.entries.enumerated() {
      try pending.withKey(of: index) { (key) throws(LMDBError) in
        guard pending.replaces(try header(forKey: key), by: entry, clearedAt: cleared) else { return }
        let frame = entry.frame
        if entry.isRemoval
          || RecordHeader(frame.record).map({
            pending.removes($0, under: frame.key, clearedAt: cleared)
          }) ?? true
        {
          _ = try remove(key, of: frame.key) { $0.gives(wayTo: entry.stamp) }
        } else {
          try put(frame.record, forKey: key)
        }
      }
    }
    metadata.lastStamp = max(metadata.lastStamp, pending.lastStamp)
  }
}
