import LMDB
import Logging
import Platform
import Synchronization

/// Removes unused space from the value log. Writer thread, about once a second.
///
/// An unowned segment without counted usage is removed once every process's snapshots see that, and no power cut can
/// undo it. A segment less than half in use is emptied first, in short steps between commits; so are short ones if
/// there are many.
// Sendable: only the writer thread, or opening before it starts, changes state.
final class ValueLogKeeper: StorePart, @unchecked Sendable {
  /// Bytes; less dead space is not worth the work.
  private static let leastDead = 64 << 10
  /// The limit for the active segment, which is then retired early.
  private static let leastDeadOfActive = 4 << 20
  /// The maximum number of segments shorter than an eighth of the usual size.
  private static let maximumShort = 16
  /// The maximum number of emptying steps per round, between which commits go first.
  private static let partsOfRound = 40

  private let reader: ValueReader

  /// An unreferenced segment, as it was while unowned.
  private struct Unused {
    /// The transaction of that state.
    let transactionID: UInt64
    /// Bytes; a process that continues the segment leaves it longer.
    let size: Int
  }

  /// Unreferenced segments that cannot be removed yet.
  private var unused: [UInt64: Unused] = [:]
  private var emptying: SegmentEmptying?
  /// The usage of segments that could not be emptied, because of a damaged value, for example.
  private var unmovable: [UInt64: SegmentUsage] = [:]
  /// The last transaction checked, if there was nothing to do.
  private var lastPosition: UInt64?

  init(_ reader: ValueReader) { self.reader = reader }

  private var log: ValueLog { store.values }
  private var folder: ValueFolder { ValueFolder(cache: store.place.directory) }
  private var activity: String { "Giving back space of the values of \(database.directoryName)" }

  // MARK: Rounds

  func makeRound() {
    if database.isOutOfService.load(ordering: .acquiring) { return }
    reader.forgetRemoved()
    let position = database.environment.lastPosition()
    if position == lastPosition, emptying == nil { return }
    do throws(CacheError) {
      lastPosition = try look() ? nil : position
    } catch {
      // A later round retries. The next commit reports any disk error.
      emptying = nil
      lastPosition = nil
    }
  }

  /// Removes all unused space at once, however little.
  func sweep() throws(CacheError) {
    // Segments that remain must wait for other processes or snapshots.
    lastPosition = nil
    defer { SegmentClosing.drain() }
    for _ in 0..<100 where try !look(leastDead: 0, leastDeadOfActive: 0) { return }
  }

  /// Removes the unreferenced active segment before closing, rather than at the next opening.
  func finish() {
    // Afterwards this process has no removed segment open.
    defer { SegmentClosing.drain() }
    // Releases its lock, so that others may continue it.
    emptying = nil
    guard journal.lock.withLock({ journal.state.gate.failure == nil }), let active = log.active else { return }
    _ = outcome { () throws(CacheError) in
      guard try database.valueUsage().segments[active.identifier] == nil else { return }
      log.retire(active.identifier)
      releaseCommitted()
      _ = try removeUnused(of: segments(), database.valueUsage())
    }
  }

  func didReopen() {
    (unused, unmovable, emptying, lastPosition) = ([:], [:], nil, nil)
    reader.forgetAll()
  }

  /// Returns whether work remains that needs no further commit.
  private func look(
    leastDead: Int = ValueLogKeeper.leastDead, leastDeadOfActive: Int = ValueLogKeeper.leastDeadOfActive
  ) throws(CacheError) -> Bool {
    releaseCommitted()
    let usage = try database.valueUsage()
    let found = try segments()
    let isWaiting = try removeUnused(of: found, usage)
    let isEnding = endSparseActive(usage, leastDead: leastDeadOfActive)
    let isEmptying = try emptySparse(sparse(found, usage, leastDead: leastDead))
    return isWaiting || isEnding || isEmptying || log.hasRetired
  }

  private func segments() throws(CacheError) -> [ValueFolder.Found] {
    try calling(activity) { try folder.segments() }
  }

  private func releaseCommitted() {
    log.release { journal.lock.withLock { (journal.lastWritten, journal.state.committedNumber) } }
  }

  // MARK: Segments that nothing refers to

  /// Returns whether some segments must wait.
  private func removeUnused(
    of found: [ValueFolder.Found], _ usage: EntryDatabase.ValueUsage
  ) throws(CacheError) -> Bool {
    let active = log.active?.identifier
    let candidates = found.filter { usage.segments[$0.identifier] == nil && $0.identifier != active }
    let identifiers = Set(candidates.map(\.identifier))
    unused = unused.filter { identifiers.contains($0.key) }
    var (isWaiting, synchronized) = (false, UInt64(0))
    for segment in candidates where try !removeIfUnused(segment, &synchronized) { isWaiting = true }
    reader.forgetRemoved()
    return isWaiting
  }

  /// Returns whether the segment is removed. An unused segment with an owner may be used and become unused again before
  /// the next round, with a snapshot of the use in between. So it is noted while unowned, and again after another
  /// process had it.
  ///
  /// - Parameter synchronized: The transaction up to which commits are durable.
  private func removeIfUnused(_ segment: ValueFolder.Found, _ synchronized: inout UInt64) throws(CacheError) -> Bool {
    let identifier = segment.identifier
    if let known = unused[identifier], known.size == segment.size, try !database.allReadersSee(known.transactionID) {
      return false
    }
    let lock = try calling(activity) { try folder.take(identifier) }
    guard let lock else { return false }
    // With the lock held nothing is appended, so these counts are final.
    let usage = try database.valueUsage()
    let size = try calling(activity) { try folder.size(identifier) }
    guard let size, usage.segments[identifier] == nil else {
      unused[identifier] = nil
      return false
    }
    var noted = Unused(transactionID: usage.transactionID, size: size)
    if let known = unused[identifier], known.size == size { noted = known }
    unused[identifier] = noted
    guard try database.allReadersSee(noted.transactionID), try database.areFilesInPlace() else { return false }
    // A power cut could undo the transaction that removed its last value.
    if store.durability == .ordered, synchronized < noted.transactionID {
      try database.synchronize()
      synchronized = usage.transactionID
    }
    try calling(activity) { try folder.remove(identifier) }
    SegmentClosing.release(lock)
    unused[identifier] = nil
    events.log(.debug, "cache values removed", ["segment": "\(ValueSegment.name(identifier))"])
    return true
  }

  // MARK: Segments of which little is in use

  /// Retires a mostly dead active segment, so that it can be emptied. Returns whether it did.
  private func endSparseActive(_ usage: EntryDatabase.ValueUsage, leastDead: Int) -> Bool {
    guard let active = log.active else { return false }
    let live = usage.segments[active.identifier]?.bytes ?? 0
    guard active.size - ValueSegment.headerSize - live > max(leastDead, live) else { return false }
    log.retire(active.identifier)
    return true
  }

  private func emptySparse(_ found: [ValueFolder.Found]) throws(CacheError) -> Bool {
    var candidates = found
    for _ in 0..<Self.partsOfRound {
      if emptying == nil { emptying = try firstThatCanBeTaken(candidates) }
      guard let segment = emptying else { break }
      if try !segment.makeStep() {
        emptying = nil
        candidates.removeAll { $0.identifier == segment.identifier }
        if let usage = try database.valueUsage().segments[segment.identifier] { unmovable[segment.identifier] = usage }
      }
      writer.letCommitsGoFirst()
    }
    return !found.isEmpty || emptying != nil
  }

  private func sparse(
    _ found: [ValueFolder.Found], _ usage: EntryDatabase.ValueUsage, leastDead: Int
  ) -> [ValueFolder.Found] {
    let active = log.active?.identifier
    let used = found.filter { segment in
      guard let usage = usage.segments[segment.identifier], segment.identifier != active else { return false }
      return unmovable[segment.identifier] != usage
    }
    let sparse = used.filter { segment in
      let live = usage.segments[segment.identifier]?.bytes ?? 0
      // A forged usage may have any value.
      return segment.size - ValueSegment.headerSize > live.addingClamped(max(leastDead, live))
    }
    let short = used.filter { $0.size < store.settings.valueSegmentSize / 8 }
    return short.count > Self.maximumShort ? sparse + short : sparse
  }

  private func firstThatCanBeTaken(_ candidates: [ValueFolder.Found]) throws(CacheError) -> SegmentEmptying? {
    for segment in candidates {
      let lock = try calling(activity) { try folder.take(segment.identifier) }
      if let lock { return SegmentEmptying(segment, lock, log, database, journal) }
    }
    return nil
  }
}

/// Moves a segment's referenced values to this process's active segment in short steps, on the writer thread. A step
/// copies values, syncs them, and changes their records in one transaction. An interruption leaves only unreferenced,
/// uncounted copies.
final class SegmentEmptying {
  /// The maximum number of values, and of their bytes, per step.
  private static let (valuesOfStep, bytesOfStep) = (512, 4 << 20)
  /// Bytes to read at once when an entry is not directly after the last one.
  private static let searchLength = 64 << 10
  /// The maximum number of bytes per step to search for an entry.
  private static let searchOfStep = 16 << 20

  let identifier: UInt64
  private let size: Int
  private let lock: FileLock
  private let log: ValueLog
  private let database: EntryDatabase
  private let journal: Journal
  private var offset = ValueSegment.headerSize

  /// - Parameter lock: From ``ValueFolder/take(_:)``.
  init(
    _ segment: ValueFolder.Found, _ lock: consuming FileLock, _ log: ValueLog, _ database: EntryDatabase,
    _ journal: Journal
  ) {
    identifier = segment.identifier
    size = segment.size
    self.lock = lock
    self.log = log
    self.database = database
    self.journal = journal
  }

  func makeStep() throws(CacheError) -> Bool {
    let found = try calling("Reading \(lock.file.path)") { try nextValues() }
    try move(try database.referring(found))
    return offset < size
  }

  private func move(_ values: [(key: [UInt8], pointer: ValuePointer)]) throws(CacheError) {
    if values.isEmpty { return }
    var moved: [(key: [UInt8], old: ValuePointer, new: AppendedValue)] = []
    defer { for value in moved { value.new.end() } }
    let owner = journal.identifier
    for (key, pointer) in values {
      let copy = try calling("Moving values of \(database.directoryName)") { () throws(SystemError) -> AppendedValue? in
        try self.copy(key, pointer, owner)
      }
      if let copy { moved.append((key, pointer, copy)) }
    }
    try database.transact("Moving values of \(database.directoryName)") { [moved] (session) throws(LMDBError) in
      for (key, old, new) in moved {
        try key.withBytes { (key) throws(LMDBError) in try session.move(key, from: old, to: new.pointer) }
      }
    }
  }

  /// Returns `nil` for a damaged value, which stays in place.
  private func copy(_ key: [UInt8], _ pointer: ValuePointer, _ owner: UInt64) throws(SystemError) -> AppendedValue? {
    let value = try OwnedBytes(count: pointer.length, for: lock.file.path)
    guard try unsafe lock.file.read(value.memory.buffer, at: pointer.offset),
      RecordHeader.payloadHash(value.bytes) == pointer.hash
    else { return nil }
    return try key.withBytes { (key) throws(SystemError) in try log.append(value.bytes, key: key, owner: owner) }
  }

  // MARK: The entries of the segment

  private func nextValues() throws(SystemError) -> [(key: [UInt8], pointer: ValuePointer)] {
    var values: [(key: [UInt8], pointer: ValuePointer)] = []
    var (bytes, searched) = (0, 0)
    while offset < size, values.count < Self.valuesOfStep, bytes < Self.bytesOfStep, searched < Self.searchOfStep {
      guard let (entry, key) = try entry(at: offset) else {
        let start = offset + ValueEntry.alignment
        offset = try nextMagic(from: start, limit: Self.searchOfStep)
        searched += offset - start + Self.searchLength
        continue
      }
      values.append((key, entry.pointer(identifier)))
      bytes += entry.length
      offset = entry.end
    }
    return values
  }

  private func entry(at offset: Int) throws(SystemError) -> (ValueEntry, key: [UInt8])? {
    try withStackBytes(ValueEntry.greatestHead) { (head) throws(SystemError) in
      let count = try unsafe lock.file.readPart(head.buffer, at: offset)
      let bytes = ByteView(head[..<count])
      guard let entry = ValueEntry(bytes, at: offset, in: identifier, limit: size) else { return nil }
      return (entry, Array(bytes[ValueEntry.headSize..<ValueEntry.headSize + entry.keyLength]))
    }
  }

  /// Finds the next possible entry, or where to search on after about `limit` bytes: a failed write leaves a hole.
  private func nextMagic(from start: Int, limit: Int) throws(SystemError) -> Int {
    var position = start
    var bytes = [UInt8](repeating: 0, count: Self.searchLength)
    while position < size {
      if position - start >= limit { return position }
      let count = try bytes.withMutableBytes { (bytes) throws(SystemError) in
        try unsafe lock.file.readPart(bytes.buffer, at: position)
      }
      for index in stride(from: 0, to: count, by: ValueEntry.alignment)
      where bytes[index...].starts(with: ValueEntry.magicBytes) { return position + index }
      if count < bytes.count { break }
      position += count
    }
    return size
  }
}
