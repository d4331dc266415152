import Foundation
import LMDB
import Logging
import Platform
import Synchronization

/// The disk tier of one directory in this process, shared by every cache opened on it.
///
/// A set archives on the caller's thread, appends to the ``Journal`` and returns. The ``Writer``'s thread commits each
/// batch to the ``EntryDatabase`` as one transaction. The ``RecordReader`` looks at uncommitted writes first, then in
/// the database. All functions here may be called from any thread.
final class DiskStore: Sendable {
  let clock: CacheClock
  let durability: Durability
  /// The first opening's settings, which later ones must match (``share(_:)``). Per-cache settings are in
  /// ``LMDBCache/configuration``.
  let settings: CacheConfiguration.Disk
  let removesDirectory: Bool
  let recovery: CacheRecovery?
  let journal: Journal
  let database: EntryDatabase
  /// Finds records but decodes no values: transforms belong to each cache (``RecordReader/reader(through:)``).
  let records: RecordReader
  let values: ValueLog
  let valueKeeper: ValueLogKeeper
  let writer: Writer
  let observers: StoreObservers
  let metrics: CacheMetrics
  let feed: ChangeFeed
  let follower: ChangeFollower
  let peers: PeerRecovery
  let trimmer: Trimmer
  let maintenance: Maintenance
  let publisher: StatisticsPublisher
  let place: PlaceKeeper
  let marker: CleanExitMarker
  let space: SpaceKeeper
  let exclusive: ExclusiveKeeper
  let keyLocks: KeyLocks
  /// Loads in this process: one per key at a time, across its caches.
  let flights = SingleFlight()
  let events: EventLog
  let committer: Committer

  init(
    _ opened: StoreOpening.Opened, _ configuration: CacheConfiguration, _ databaseKey: DatabaseKey, events: EventLog
  ) {
    let directory = opened.place.directory
    let lock = ConditionLock()
    let clock = configuration.clock
    let durability = configuration.durability
    let counters = DiskCounters()
    if opened.recovery != nil { counters.recoveries.increment() }
    self.clock = clock
    self.durability = durability
    settings = configuration.disk
    removesDirectory = configuration.removesDirectory
    self.events = events
    recovery = opened.recovery
    let journalSize = configuration.disk.journalSize
    let currentDirectory = CurrentDirectory(directory)
    journal = Journal(
      lock: lock, clock: clock,
      stamps: StampClock(base: opened.metadata.stampBase, last: opened.metadata.lastStamp),
      makeFile: { (identifier) throws(CacheError) in
        try JournalFolder(cache: currentDirectory.value).makeFile(size: journalSize, identifier)
      })
    database = EntryDatabase(opened.environment, databaseKey, directoryName: directory.path, counters: counters)
    observers = StoreObservers(lock, lockTimeout: configuration.disk.lockTimeout)
    let segmentSize = configuration.disk.valueSegmentSize
    values = ValueLog(currentDirectory, durability: durability, segmentSize: segmentSize)
    let valueReader = ValueReader(currentDirectory, segmentSize: segmentSize)
    let recency = RecencyTable()
    records = RecordReader(journal, database, valueReader, .none, recency)
    feed = ChangeFeed(records)
    metrics = CacheMetrics(directory: directory.path, events: events, isReported: configuration.reportsMetrics)
    committer = Committer()
    writer = Writer(
      journal, committer, groupCommitInterval: configuration.disk.groupCommitInterval.clampedNanoseconds,
      directoryName: directory.path, events: events, counters: counters)
    follower = ChangeFollower(feed, records, writer, events: events)
    peers = PeerRecovery(
      currentDirectory, database, journal, valueReader, durability: durability,
      lockTimeout: configuration.disk.lockTimeout.clampedNanoseconds, events: events)
    trimmer = Trimmer(recency, limits: configuration.disk)
    maintenance = Maintenance()
    publisher = StatisticsPublisher(clock)
    place = PlaceKeeper(opened.place, currentDirectory, configuration)
    marker = CleanExitMarker(place, database, durability: durability, events: events)
    space = SpaceKeeper()
    keyLocks = KeyLocks(place, events: events)
    exclusive = ExclusiveKeeper()
    valueKeeper = ValueLogKeeper(valueReader)
    let parts: [StorePart] = [committer, trimmer, maintenance, publisher, place, space, exclusive, valueKeeper]
    for part in parts { part.store = self }
    wire()
  }

  /// Connects parts that must not depend on each other.
  private func wire() {
    database.bringFilesIntoPlace = { [unowned place] () throws(CacheError) in try place.bringFilesIntoPlace() }
    database.areFilesInPlace = { [unowned place] () throws(CacheError) in try place.areFilesInPlace() }
    database.reopenAfterPanic = { [unowned place] () throws(LMDBError) in try place.reopenAfterPanic() }
    database.requestReopening = { [unowned place] in place.requestReopening() }
    database.willCommit = { [unowned marker] in marker.willCommit() }
    database.didFailDevice = { [unowned marker] in marker.makeVoid() }
    database.didFindDamage = { [unowned writer, unowned marker, events, directory] error in
      marker.makeVoid()
      writer.takeOutOfService(error)
      events.log(
        .error, "cache file is damaged: the cache goes on in memory, and verifies the file when it is opened next",
        ["directory": "\(directory)", "error": "\(error)"])
    }
    if durability != .fast {
      database.synchronizeValues = { [unowned values, directory] () throws(CacheError) in
        try calling("Synchronizing the values of \(directory)") { try values.synchronize() }
      }
    }
    peers.makeRoom = { [unowned committer] in committer.makeRoom() }
    peers.didReplayAll = { [unowned writer] in writer.forgetFailure() }
    peers.didRemoveByTag = { [unowned maintenance] in maintenance.wantSweep() }
    writer.makeRounds = { [unowned self] in makeRounds() }
    writer.finish = { [unowned self] in
      synchronizeIfAwaited()
      valueKeeper.finish()
      publisher.end()
    }
  }

  /// After files were reopened, which may have removed the cause of a failure.
  func didReopen() {
    exclusive.didReopen()
    publisher.didReopen()
    writer.forgetFailure()
    marker.didReopen()
    valueKeeper.didReopen()
    feed.tellMissed()
  }

  private func makeRounds() {
    do throws(CacheError) {
      try place.bringFilesIntoPlace()
      writer.forgetFailureIfIdle()
    } catch {
      journal.lock.withLock { writer.note(error) }
    }
    peers.takeOver()
    exclusive.makeRound()
    synchronizeIfAwaited()
    valueKeeper.makeRound()
    observers.conditional.makeRound(environment)
    journal.makeRound()
    maintenance.sweepIfWanted()
    space.makeRound()
    if journal.lock.withLock({ journal.state.gate.failure }) == nil { place.processLock.keepReserve() }
    marker.makeRound()
    // Last, to include the results of the other steps.
    publisher.makeRound()
  }

  func header(_ key: CacheKey) throws(CacheError) -> StoredHeader? { try records.header(key) }

  func liveHeader(_ key: CacheKey) throws(CacheError) -> RecordHeader? {
    guard let header = try records.header(key)?.header, !header.isExpired(at: clock.now) else { return nil }
    return header
  }

  func isRemoved(_ tags: EntryTags, writtenAt stamp: UInt64) throws(CacheError) -> Bool {
    try records.isRemoved(tags, writtenAt: stamp)
  }

  // MARK: What everybody asks

  var environment: Environment { database.environment }
  var inlineThreshold: Int { settings.inlineThreshold }
  var counters: DiskCounters { database.counters }
  var directory: String { database.directoryName }

  var health: CacheHealth {
    journal.lock.withLock {
      switch journal.state.gate {
      case .ended: .closed
      case .open, .failing: journal.failure.map { .memoryOnly($0) } ?? .healthy
      case .closing(let failure): failure.map { .memoryOnly($0.error) } ?? .healthy
      }
    }
  }

  // MARK: Waiting

  func commitPending() throws(CacheError) { try journal.commitPending() }

  /// Makes all writes so far safe from a power cut, in every durability mode.
  func flush() throws(CacheError) {
    try commitPending()
    try synchronize()
  }

  /// The number of entries, including expired ones. Constant time.
  func count() throws(CacheError) -> Int {
    try commitPending()
    return try database.metadata().count
  }

  func totalCost() throws(CacheError) -> Int {
    try commitPending()
    return try database.metadata().totalCost
  }

  /// The live entries whose keys start with `prefix`, in byte order, from one snapshot.
  func entries(withPrefix prefix: String) throws(CacheError) -> [CacheEntry] {
    try commitPending()
    return try database.entries(withPrefix: prefix, at: clock.now)
  }

  /// The first page includes all earlier writes.
  func page(withPrefix prefix: String, after place: EntryPlace?, length: Int) throws(CacheError) -> EntryPage {
    if place == nil { try commitPending() }
    return try database.page(withPrefix: prefix, after: place, length: length, at: clock.now)
  }

  func bytesOnDisk() throws(CacheError) -> Int {
    try calling("Measuring \(directory)") { try place.directory.allocatedBytes() }
  }

  /// Removes expired entries, then those of the lowest rank, until `goal` is reached.
  func trim(to goal: TrimGoal) throws(CacheError) {
    var isOfAll = goal.count == 0
    // Entries that cost nothing need not go where none costs anything.
    if goal.cost == 0, try database.metadata().totalCost > 0 { isOfAll = true }
    try trimming(isOfAll: isOfAll) { (trimmer) throws(CacheError) in try trimmer.trim(to: goal) }
  }

  func trimToLimits() throws(CacheError) {
    try trimming { (trimmer) throws(CacheError) in
      try trimmer.flushRecency()
      try trimmer.trimToLimits()
    }
  }

  private func trimming(
    isOfAll: Bool = false, _ body: @escaping @Sendable (Trimmer) throws(CacheError) -> Void
  ) throws(CacheError) {
    do throws(CacheError) {
      try commitPending()
    } catch {
      guard error.isOfFullDisk else { throw error }
      // What waits need not be committed if it goes, too.
      if isOfAll { return try removeAll(withPrefix: nil, by: nil).checkCommitted() }
      // Trimming makes room for what waits. One job: a commit in between would take the reserve.
      try repeatingOnFullDisk { () throws(CacheError) in
        try writer.run { [self] in
          giveReserve()
          try body(trimmer)
          giveSpaceBack()
        }
        try commitOnFullDisk()
      }
    }
    try writer.run { [trimmer] in try body(trimmer) }
  }

  /// Commits a removal on a full disk, and returns the freed space.
  func commitOnFullDisk() throws(CacheError) {
    if journal.isWriterThread { return }
    // A commit already under way may not include it.
    try writer.run {}
    try repeatingOnFullDisk { () throws(CacheError) in
      writer.forgetFailure()
      try journal.commitPending()
    }
    try writer.run { [self] in
      giveSpaceBack()
      place.processLock.keepReserve()
    }
  }

  /// Calls `body` up to three times. LMDB writes new pages before it reuses old ones, so each attempt makes room for the next.
  private func repeatingOnFullDisk(_ body: () throws(CacheError) -> Void) throws(CacheError) {
    for attempt in 1... {
      do throws(CacheError) { return try body() } catch {
        guard error.isOfFullDisk, attempt < 3 else { throw error }
      }
      try writer.run { [self] in giveSpaceBack() }
    }
  }

  /// Returns free space in the files to the disk. Writer thread.
  private func giveSpaceBack() {
    giveReserve()
    // It only takes space: the next round tries it again.
    _ = outcome { () throws(CacheError) in try valueKeeper.sweep() }
    _ = outcome { () throws(CacheError) in try space.sweep() }
  }
}

extension DiskStore {
  /// Returns this process's open store for the directory, or opens one. Balance each call with ``release()``.
  static func open(
    directory path: String, configuration: CacheConfiguration, databaseKey: DatabaseKey = DatabaseKey()
  ) throws(CacheError) -> DiskStore {
    try configuration.validate()
    return try OpenDirectories.open(
      { () throws(CacheError) in
        try CacheDirectory(path: path, allowsOtherUsers: configuration.disk.allowsOtherUsers)
      },
      share: { (store) throws(CacheError) in try store.share(configuration) },
      make: { (cache) throws(CacheError) in try make(cache, configuration, databaseKey) })
  }

  private static func make(
    _ cache: CacheDirectory, _ configuration: CacheConfiguration, _ databaseKey: DatabaseKey
  ) throws(CacheError) -> DiskStore {
    let events = EventLog(configuration.logger)
    let opened = try StoreOpening(cache: cache, configuration: configuration, events: events).run()
    let store = DiskStore(opened, configuration, databaseKey, events: events)
    do throws(CacheError) {
      // Before any read or commit: a dead process's writes were acknowledged.
      try store.peers.takeOverAtOpening(timeout: configuration.disk.lockTimeout.clampedNanoseconds)
      store.followStamps()
      try store.writer.start()
    } catch {
      opened.environment.close()
      throw error
    }
    return store
  }

  /// Nanoseconds by which the wall clock may have been ahead: a day.
  private static let greatestClockError: Int64 = 86_400_000_000_000

  /// Stamps are wall-clock times of all processes, so the time is at least the last stamp's. One far ahead comes from a
  /// wrong clock, or from damage. Done once for each store: later it would move the time of caches that are open.
  private func followStamps() {
    let last = Int64(clamping: journal.lock.withLock { journal.state.stamps.last })
    if last <= clock.now.addingClamped(Self.greatestClockError) { clock.advance(toAtLeast: last) }
  }

  /// Ends one opening. The last one commits pending writes, ends the writer thread and closes the files.
  ///
  /// - Throws: `.notCommitted` if a commit failed: the journal's file keeps the writes, but those in memory are lost.
  func release() throws(CacheError) {
    guard OpenDirectories.release(self) else { return }
    let result = outcome { () throws(CacheError) in try finish() }
    // The system cleans up leftovers, as with all temporary files.
    if removesDirectory { do { try FileManager.default.removeItem(atPath: directory) } catch {} }
    OpenDirectories.closed(self)
    events.drain()
    try result.get()
  }

  private func finish() throws(CacheError) {
    let failure = writer.close()
    maintenance.recordLastMetrics()
    for observer in observers.removeAll() { observer.storeWillClose() }
    let isLost = journal.lock.withLock { journal.uncommitted.contains { !$0.isMapped && !$0.isEmpty } }
    let location = journal.end()
    values.close()
    defer {
      environment.close()
      place.close()
    }
    // Every step runs even if an earlier one fails: this object may outlive its closing, with the process lock held.
    let end = outcome { () throws(CacheError) in
      guard failure == nil else { return }
      try endAsLastProcess()
    }
    let activity = "Closing the cache in \(directory)"
    let unlocking = outcome { () throws(CacheError) in try calling(activity) { try place.processLock.unlock() } }
    let removal = outcome { () throws(CacheError) in
      // If a commit failed, the journal stays for the next opening to apply.
      guard let location, failure == nil else { return }
      try calling(activity) { try JournalFolder(cache: place.directory).remove(location.identifier, location.identity) }
    }
    if let failure {
      let fate =
        isLost
        ? "those that its journal could not take are lost."
        : "they are in its journal and are applied when it is opened again."
      throw CacheError(
        .notCommitted, "The cache in \(directory) was closed with writes that could not be committed; \(fate)",
        underlying: failure.error)
    }
    for step in [end, unlocking, removal] { try step.get() }
  }

  /// Finishes as the last process. Takes the opening lock, so that no other process checks for users during this. If
  /// the lock is not free, the next opening just has more to do.
  private func endAsLastProcess() throws(CacheError) {
    let opening = try calling("Closing the cache in \(directory)") {
      try OpeningLock.take(place.directory, within: Self.longestWaitAtEnd)
    }
    guard let opening else { return }
    if durability == .fast { try endFastSession() }
    marker.markCleanExit()
    opening.end()
  }

  private static let longestWaitAtEnd: Int64 = 1_000_000_000

  /// Syncs a `.fast` cache as its last process, so that the next opening can trust it.
  private func endFastSession() throws(CacheError) {
    let isOnlyOwner = try calling("Closing the cache in \(directory)") { try place.processLock.tryOwn() }
    guard isOnlyOwner else { return }
    try database.synchronize()
    try calling("Closing the cache in \(directory)") {
      // Everything must be on disk before the mark goes: the database, its name, all processes' values.
      try place.directory.synchronizeVolume()
      try FastSession.end(place.directory)
    }
  }
}

extension DiskStore {
  @inline(__always)
  var foreignPosition: UInt64 { database.foreignPosition }

  /// Calls `body` with a snapshot that includes every write that returned before.
  func withSnapshot<R>(_ body: (borrowing ReadTransaction) -> R) throws(CacheError) -> R {
    try commitPending()
    return try database.reading("Opening a snapshot of \(directory)") { (txn) throws(LMDBError) in body(txn) }
  }
}

extension DiskStore {
  /// Checks that an open store suits another opener, and switches it to the files that are in the directory now.
  ///
  /// - Throws: `.durabilityMismatch`, `.configurationMismatch`.
  func share(_ asked: CacheConfiguration) throws(CacheError) {
    guard asked.durability == durability else {
      throw StoreOpening.durabilityMismatch(place.directory, durability, asked.durability)
    }
    let differences = differences(asked)
    guard differences.isEmpty else {
      throw CacheError(
        .configurationMismatch,
        "\(directory) is open in this process already, and has there "
          + differences.map { "\($0.name) \($0.present), where \($0.asked) was asked for" }.joined(separator: "; ")
          + ". Open it with the same settings, use the cache that is open, or close that one first. Limits can be changed "
          + "while it is open: cache.disk.countLimit and its siblings.")
    }
    if try place.displacement().isEmpty { return }
    try writer.run { [place] in try place.bringFilesIntoPlace() }
  }

  private struct Difference {
    let name: String
    let present: String
    let asked: String
  }

  /// The settings that the openers disagree on. Settings for opening the files no longer matter.
  private func differences(_ configuration: CacheConfiguration) -> [Difference] {
    var differences: [Difference] = []
    let limits = trimmer.limits.withLock { $0 }
    func compare<V: Equatable>(_ name: String, _ setting: KeyPath<CacheConfiguration.Disk, V>) {
      let (asked, present) = (configuration.disk[keyPath: setting], limits[keyPath: setting])
      if asked == present || asked == settings[keyPath: setting] { return }
      differences.append(Difference(name: "disk." + name, present: text(present), asked: text(asked)))
    }
    compare("countLimit", \.countLimit)
    compare("costLimit", \.costLimit)
    compare("ageLimit", \.ageLimit)
    compare("freeSpaceLimit", \.freeSpaceLimit)
    compare("inlineThreshold", \.inlineThreshold)
    compare("valueSegmentSize", \.valueSegmentSize)
    compare("groupCommitInterval", \.groupCommitInterval)
    compare("journalSize", \.journalSize)
    compare("mapSize", \.mapSize)
    compare("lockTimeout", \.lockTimeout)
    if !configuration.clock.isSame(as: clock) {
      differences.append(Difference(name: "clock", present: "of its opening", asked: "another one"))
    }
    return differences
  }

  private func text(_ setting: some Equatable) -> String {
    if let time = setting as? Duration? { return time.map { "\($0)" } ?? "none" }
    return "\(setting)"
  }
}

/// A part of a store, which works on other parts of it. It is used no longer than the store lives.
// Sendable: `store` is set once, by the store that makes this.
class StorePart: @unchecked Sendable {
  final unowned var store: DiskStore!

  final var database: EntryDatabase { store.database }
  final var journal: Journal { store.journal }
  final var writer: Writer { store.writer }
  final var events: EventLog { store.events }
  final var clock: CacheClock { store.clock }
}
