import LMDB
import Platform

/// The acknowledged writes in journals that a state of the database lacks: from live processes before their next
/// commit, or from dead ones. A replay commits them (``PeerRecovery``), and inspection shows them, by the same rules:
/// never an older write over a newer one, and nothing from before a removal of everything.
// Sendable: constant once made; the frames are in the memory of `journals`.
final class PendingWrites: @unchecked Sendable {
  /// The newest write of a key.
  struct Entry {
    let frame: JournalFrame
    /// Whether the write is a removal, or a put whose value is lost, which still removes the record before it.
    let isRemoval: Bool
    let databaseKey: ByteView

    var stamp: UInt64 { frame.stamp }
  }

  /// Unique, in database key order.
  private(set) var entries: [Entry] = []
  private(set) var count = 0
  private(set) var clearStamp: UInt64 = 0
  private(set) var prefixes: [JournalSegment.PrefixRemoval] = []
  private(set) var tags: [UInt64: UInt64] = [:]
  private(set) var lastStamp: UInt64 = 0
  /// The journals with pending writes, which own the frames.
  private(set) var journals: [JournalImage] = []
  private var ownKeys = OwnedKeys()

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

  private func add(_ frame: JournalFrame, isValueMissing: Bool, _ databaseKey: DatabaseKey) {
    lastStamp = max(lastStamp, frame.stamp)
    switch frame.operation {
    case .put, .remove:
      let key = ownKeys.databaseKey(of: frame.key, databaseKey)
      entries.append(Entry(frame: frame, isRemoval: frame.operation == .remove || isValueMissing, databaseKey: key))
    case .removePrefix: prefixes.append(.init(prefix: Array(frame.key), stamp: frame.stamp))
    case .removeTag: tags[frame.tag] = max(tags[frame.tag] ?? 0, frame.stamp)
    case .removeAll: clearStamp = max(clearStamp, frame.stamp)
    }
  }

  /// Sorts by key, and keeps only the newest write of each.
  private func sortEntries() {
    entries.sort { first, second in
      if first.databaseKey.precedes(second.databaseKey) { return true }
      return second.databaseKey.precedes(first.databaseKey) ? false : first.stamp < second.stamp
    }
    var newest: [Entry] = []
    for entry in entries {
      if let last = newest.last, last.databaseKey.elementsEqual(fast: entry.databaseKey) { newest.removeLast() }
      newest.append(entry)
    }
    entries = newest
  }

  /// The segments of the values that the writes refer to.
  var segments: Set<UInt64> { Set(entries.compactMap { $0.isRemoval ? nil : $0.frame.pointer?.segment }) }

  // MARK: By keys of the database

  func index(atOrAfter key: ByteView) -> Int {
    var (low, high) = (0, entries.count)
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].databaseKey.precedes(key) { low = middle + 1 } else { high = middle }
    }
    return low
  }

  func entry(_ key: ByteView) -> Entry? {
    let index = index(atOrAfter: key)
    guard index < entries.count, entries[index].databaseKey.elementsEqual(fast: key) else { return nil }
    return entries[index]
  }

  // MARK: Who gives way

  var removesMany: Bool { clearStamp > 0 || !prefixes.isEmpty || !tags.isEmpty }

  /// Whether a write replaces the committed record of its key.
  ///
  /// - Parameter cleared: The stamp of the last committed removal of everything.
  func replaces(_ committed: RecordHeader?, by entry: Entry, clearedAt cleared: UInt64) -> Bool {
    if !entry.isRemoval, entry.stamp <= cleared { return false }
    return committed?.gives(wayTo: entry.stamp) ?? true
  }

  /// Whether a removal of many entries removes a record, committed or not.
  func removes(_ header: RecordHeader, under cacheKey: ByteView, clearedAt cleared: UInt64) -> Bool {
    if clearStamp > cleared, header.gives(wayTo: clearStamp) { return true }
    if prefixes.contains(where: { header.gives(wayTo: $0.stamp) && cacheKey.hasPrefix($0.prefix) }) { return true }
    guard !tags.isEmpty, let own = header.tags else { return false }
    return own.contains { tags[$0] ?? 0 > header.stamp }
  }
}

extension WriteSession {
  /// Commits the writes of other processes' journals.
  mutating func apply(_ pending: PendingWrites) throws(LMDBError) {
    let cleared = metadata.clearStamp
    if pending.clearStamp > cleared {
      try removeAll(withPrefix: ByteView.empty) { $0.gives(wayTo: pending.clearStamp) }
      metadata.clearStamp = pending.clearStamp
    }
    for removal in pending.prefixes {
      try removal.prefix.withBytes { (prefix) throws(LMDBError) in
        try removeAll(withPrefix: prefix) { $0.gives(wayTo: removal.stamp) }
      }
    }
    for (tag, stamp) in pending.tags { try removeAll(tag: tag, stamp: stamp) }
    for entry in pending.entries {
      let (key, frame) = (entry.databaseKey, entry.frame)
      guard pending.replaces(try header(forKey: key), by: entry, clearedAt: cleared) else { continue }
      let record = RecordHeader(frame.record)
      if entry.isRemoval || record.map({ pending.removes($0, under: frame.key, clearedAt: cleared) }) ?? true {
        _ = try remove(key, of: frame.key) { $0.gives(wayTo: entry.stamp) }
      } else {
        try put(frame.record, forKey: key)
      }
    }
    metadata.lastStamp = max(metadata.lastStamp, pending.lastStamp)
  }
}
