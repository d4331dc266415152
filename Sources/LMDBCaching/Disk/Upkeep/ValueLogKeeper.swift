import LMDB
import Logging
import Platform
import Synchronization

/// Gives the disk back what the value log has and nothing refers to. On the writer thread, about every second.
///
/// A segment that nobody has, and that the database counts no use of, is removed when every snapshot, of any process,
/// sees that, and when a power cut cannot undo it. One of which less than half is in use is emptied first, in short steps
/// between commits; so are short ones where there are many.
// Sendable: what changes is the writer thread's, or opening's before that is started.
final class ValueLogKeeper: @unchecked Sendable {
  /// Bytes. What is not in use below that is not worth the work.
  private static let leastDead = 64 << 10
  /// The same in the active segment, which is then ended before it is full.
  private static let leastDeadOfActive = 4 << 20
  /// How many short segments there may be: those of less than an eighth of the usual length.
  private static let maximumShort = 16
  /// How many parts of a round empty segments; in between commits go first.
  private static let partsOfRound = 40

  private let log: ValueLog
  private let reader: ValueReader
  private let database: EntryDatabase
  private let journal: Journal
  private let current: CurrentDirectory
  private let writer: Writer
  private let durability: Durability
  private let segmentSize: Int
  private let events: EventLog

  /// A segment that nothing refers to, as it was while nobody had it.
  private struct Unused {
    /// The transaction as of which it was.
    let transactionID: UInt64
    /// Bytes. Whoever goes on with it, and lets go of it again, leaves it longer.
    let size: Int
  }

  /// By their identifiers, those that have to wait.
  private var unused: [UInt64: Unused] = [:]
  /// The segment that is being emptied.
  private var emptying: SegmentEmptying?
  /// What was in use of a segment that could not be emptied: a value of it is damaged, say.
  private var unmovable: [UInt64: SegmentUsage] = [:]
  /// The transaction that was looked at last, if there was nothing to do.
  private var lastPosition: UInt64?

  init(
    _ log: ValueLog, _ reader: ValueReader, _ database: EntryDatabase, _ journal: Journal, _ current: CurrentDirectory,
    _ writer: Writer, durability: Durability, segmentSize: Int, events: EventLog
  ) {
    self.log = log
    self.reader = reader
    self.database = database
    self.journal = journal
    self.current = current
    self.writer = writer
    self.durability = durability
    self.segmentSize = segmentSize
    self.events = events
  }

  private var folder: ValueFolder { ValueFolder(cache: current.value) }
  private var activity: String { "Giving back space of the values of \(database.directoryName)" }

  // MARK: Rounds

  /// About every second.
  func makeRound() {
    if database.isOutOfService.load(ordering: .acquiring) { return }
    reader.forgetRemoved()
    let position = database.environment.lastPosition()
    if position == lastPosition, emptying == nil { return }
    do throws(CacheError) {
      lastPosition = try look() ? nil : position
    } catch {
      // A later round tries it again; and what is wrong with the disk, the next commit tells.
      emptying = nil
      lastPosition = nil
    }
  }

  /// Everything at once, however little there is to gain.
  func sweep() throws(CacheError) {
    // What it leaves has to wait for something.
    lastPosition = nil
    defer { SegmentClosing.drain() }
    for _ in 0..<100 where try !look(leastDead: 0, leastDeadOfActive: 0) { return }
  }

  /// Before the cache is closed: a segment of its own that nothing refers to need not stay until the next opening.
  func finish() {
    // After it this process has none of them open.
    defer { SegmentClosing.drain() }
    // Its lock goes with it: others may go on.
    emptying = nil
    guard journal.lock.withLock({ journal.state.gate.failure == nil }), let active = log.active else { return }
    _ = outcome { () throws(CacheError) in
      guard try database.valueUsage().segments[active.identifier] == nil else { return }
      log.retire(active.identifier)
      releaseCommitted()
      _ = try removeUnused(of: segments(), database.valueUsage())
    }
  }

  /// The files may be others now.
  func didReopen() {
    (unused, unmovable, emptying, lastPosition) = ([:], [:], nil, nil)
    reader.forgetAll()
  }

  /// Returns whether there is more to do, though nobody commits anything meanwhile.
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

  /// All there are.
  private func segments() throws(CacheError) -> [ValueFolder.Found] {
    try calling(activity) { () throws(SystemError) in try folder.segments() }
  }

  private func releaseCommitted() {
    log.release { journal.lock.withLock { (journal.lastWritten, journal.state.committedNumber) } }
  }

  // MARK: Segments that nothing refers to

  /// Returns whether some have to wait.
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

  /// Returns whether it is removed.
  ///
  /// One that is unused while somebody has it may be in use before the next look, and unused again: a snapshot in
  /// between refers to it. So it is noted while nobody has it, and anew if somebody had it since.
  ///
  /// - Parameter synchronized: The transaction up to which a power cut undoes nothing.
  private func removeIfUnused(_ segment: ValueFolder.Found, _ synchronized: inout UInt64) throws(CacheError) -> Bool {
    let identifier = segment.identifier
    if let known = unused[identifier], known.size == segment.size, try !database.allReadersSee(known.transactionID) {
      return false
    }
    let lock = try calling(activity) { () throws(SystemError) in try folder.take(identifier) }
    guard let lock else { return false }
    // Nobody else appends to it now, so what is counted now is what counts.
    let usage = try database.valueUsage()
    let size = try calling(activity) { () throws(SystemError) in try folder.size(identifier) }
    guard let size, usage.segments[identifier] == nil else {
      unused[identifier] = nil
      return false
    }
    var noted = Unused(transactionID: usage.transactionID, size: size)
    if let known = unused[identifier], known.size == size { noted = known }
    unused[identifier] = noted
    guard try database.allReadersSee(noted.transactionID), try database.areFilesInPlace() else { return false }
    // A power cut might undo the transaction that removed the last of its values.
    if durability == .ordered, synchronized < noted.transactionID {
      try database.synchronize()
      synchronized = usage.transactionID
    }
    try calling(activity) { () throws(SystemError) in try folder.remove(identifier) }
    SegmentClosing.release(lock)
    unused[identifier] = nil
    events.log(.debug, "cache values removed", ["segment": "\(ValueSegment.name(identifier))"])
    return true
  }

  // MARK: Segments of which little is in use

  /// Ends the active segment where most of it is dead, so that it can be emptied. Returns whether it did.
  private func endSparseActive(_ usage: EntryDatabase.ValueUsage, leastDead: Int) -> Bool {
    guard let active = log.active else { return false }
    let live = usage.segments[active.identifier]?.bytes ?? 0
    guard active.size - ValueSegment.headerSize - live > max(leastDead, live) else { return false }
    log.retire(active.identifier)
    return true
  }

  /// Returns whether there is more to do.
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
      // What is said to be in use may be any number.
      return segment.size - ValueSegment.headerSize > live.addingClamped(max(leastDead, live))
    }
    let short = used.filter { $0.size < segmentSize / 8 }
    return short.count > Self.maximumShort ? sparse + short : sparse
  }

  private func firstThatCanBeTaken(_ candidates: [ValueFolder.Found]) throws(CacheError) -> SegmentEmptying? {
    for segment in candidates {
      let lock = try calling(activity) { () throws(SystemError) in try folder.take(segment.identifier) }
      if let lock { return SegmentEmptying(segment, lock, log, database, journal) }
    }
    return nil
  }
}
