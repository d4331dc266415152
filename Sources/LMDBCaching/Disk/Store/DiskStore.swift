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
  /// ``DiskCache/configuration``.
  let settings: CacheConfiguration.Disk
  let removesDirectory: Bool
  let recovery: CacheRecovery?
  let journal: Journal
  let database: EntryDatabase
  /// Finds records but decodes no values: transforms belong to each cache (``makeReader(_:)``).
  private let records: RecordReader
  let values: ValueLog
  let valueKeeper: ValueLogKeeper
  let synchronizer: Synchronizer
  let writer: Writer
  let observers: StoreObservers
  let metrics: CacheMetrics
  let changes: ChangeTeller
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
  let meter: SpaceMeter
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
      makeFile: { () throws(CacheError) in
        try JournalFolder(cache: currentDirectory.value).makeFile(size: journalSize)
      })
    database = EntryDatabase(
      opened.environment, databaseKey, directoryName: directory.path, position: opened.environment.lastPosition(),
      counters: counters)
    observers = StoreObservers(lock, lockTimeout: configuration.disk.lockTimeout)
    let segmentSize = configuration.disk.valueSegmentSize
    values = ValueLog(currentDirectory, durability: durability, segmentSize: segmentSize)
    let valueReader = ValueReader(currentDirectory, segmentSize: segmentSize)
    synchronizer = Synchronizer(database, journal, values, events: events)
    let recency = RecencyTable()
    records = RecordReader(journal, database, valueReader, .none, recency)
    let feed = ChangeFeed()
    changes = ChangeTeller(feed, records)
    metrics = CacheMetrics(directory: directory.path, events: events, isReported: configuration.reportsMetrics)
    committer = Committer(database, journal, durability: durability, metrics, events: events)
    writer = Writer(
      journal, committer, groupCommitInterval: configuration.disk.groupCommitInterval.clampedNanoseconds,
      directoryName: directory.path, events: events, counters: counters)
    follower = ChangeFollower(feed, records, writer, events: events)
    peers = PeerRecovery(
      currentDirectory, database, journal, valueReader, durability: durability,
      lockTimeout: configuration.disk.lockTimeout.clampedNanoseconds, events: events)
    trimmer = Trimmer(
      database, currentDirectory, observers, changes, writer, recency, limits: DiskLimits(configuration),
      clock: clock)
    meter = SpaceMeter(database, values, currentDirectory)
    maintenance = Maintenance(trimmer, peers, database, journal, meter, observers, writer, metrics, events: events)
    publisher = StatisticsPublisher(currentDirectory, journal, database, observers, events: events)
    self.place = PlaceKeeper(opened.place, currentDirectory, database, journal, configuration, events: events)
    marker = CleanExitMarker(self.place, database, durability: durability, events: events)
    space = SpaceKeeper(database, self.place, meter, writer, events: events)
    keyLocks = KeyLocks(self.place, events: events)
    exclusive = ExclusiveKeeper(journal, self.place, peers, events: events)
    valueKeeper = ValueLogKeeper(
      values, valueReader, database, journal, currentDirectory, writer, durability: durability,
      segmentSize: segmentSize, events: events)
    wire(feed)
  }

  /// Connects parts that must not depend on each other.
  private func wire(_ feed: ChangeFeed) {
    database.bringFilesIntoPlace = { [unowned place] () throws(CacheError) in try place.bringFilesIntoPlace() }
    database.areFilesInPlace = { [unowned place] () throws(CacheError) in try place.areFilesInPlace() }
    database.reopenAfterPanic = { [unowned place] () throws(LMDBError) in try place.reopenAfterPanic() }
    database.requestReopening = { [unowned place, unowned writer] in place.requestReopening(writer) }
    database.willCommit = { [unowned marker] in marker.willCommit() }
    space.willChangeFile = { [unowned marker] in marker.willCommit() }
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
        try calling("Synchronizing the values of \(directory)") { () throws(SystemError) in try values.synchronize() }
      }
    }
    committer.applyOlderJournals = { [unowned peers] (leavesNothing) throws(CacheError) in
      try peers.applyBeforeCommit(leavingNothing: leavesNothing)
    }
    committer.evict = { [unowned trimmer] () throws(CacheError) in try trimmer.evictTenth() }
    committer.evictAll = { [unowned trimmer] () throws(CacheError) in try trimmer.evictAll() }
    let giveReserve: @Sendable () -> Void = { [unowned place, unowned journal] in
      place.processLock.giveReserve()
      journal.giveBlocksBack()
    }
    committer.giveReserve = giveReserve
    committer.giveFreePages = { [unowned space] () throws(CacheError) in try space.sweep() }
    trimmer.giveReserve = giveReserve
    committer.didRemoveMany = { [unowned maintenance] in
      feed.followAgain()
      maintenance.wantSweep()
    }
    committer.didCommit = { [unowned trimmer, unowned maintenance] metadata in
      if trimmer.limits.withLock({ $0 }).isFarExceeded(by: metadata) { maintenance.enqueueTrim() }
    }
    peers.makeRoom = { [unowned committer] in committer.makeRoom() }
    place.committedStamp = { [unowned committer] in committer.committedStamp }
    place.restoreValues = { [unowned values] () throws(SystemError) in try values.restoreDeleted() }
    place.didRenewJournal = { [unowned values] (journal) throws(SystemError) in try values.follow(journal: journal) }
    place.claim = { (directory, former) throws(CacheError) in try OpenDirectories.claim(directory, from: former) }
    place.didReopen = {
      [unowned writer, unowned marker, unowned valueKeeper, unowned exclusive, unowned publisher] in
      exclusive.didReopen()
      publisher.didReopen()
      writer.forgetFailure()
      marker.didReopen()
      valueKeeper.didReopen()
      feed.tellMissed()
    }
    writer.makeRounds = { [unowned self] in makeRounds() }
    writer.finish = { [unowned synchronizer, unowned valueKeeper, unowned publisher] in
      synchronizer.synchronizeIfAwaited()
      valueKeeper.finish()
      publisher.end()
    }
  }

  private func makeRounds() {
    do throws(CacheError) {
      try place.bringFilesIntoPlace()
    } catch {
      journal.lock.withLock { writer.note(error) }
    }
    peers.takeOver()
    exclusive.makeRound()
    synchronizer.synchronizeIfAwaited()
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

  func makeReader(_ transforms: ValueTransforms) -> RecordReader { records.reader(through: transforms) }

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
  var feed: ChangeFeed { changes.feed }
  var directory: String { database.directoryName }

  var health: CacheHealth {
    journal.lock.withLock {
      switch journal.state.gate {
      case .ended: .closed
      case .open: journal.unrecorded.map { .memoryOnly($0) } ?? .healthy
      case .failing(let failure): .memoryOnly(failure.error)
      case .closing(let failure): failure.map { .memoryOnly($0.error) } ?? .healthy
      }
    }
  }

  /// Makes ``health`` report a value that was not stored for a while, because its writer got no error.
  func noteUnstored(_ error: CacheError) {
    // ``health`` reports failed commits in any case.
    if error.code != .notCommitted { journal.lock.withLock { journal.noteNotRecorded(error) } }
  }

  // MARK: Waiting

  func commitPending() throws(CacheError) { try journal.commitPending() }

  /// Makes all writes so far safe from a power cut, in every durability mode.
  func flush() throws(CacheError) {
    try journal.flush()
    try synchronizer.synchronize()
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
    return try database.entries(withPrefix: prefix, at: clock.now, hiding: journal.hiddenKeys)
  }

  /// The first page includes all earlier writes.
  func page(
    withPrefix prefix: String, from start: EntryPage.Start?, length: Int
  ) throws(CacheError) -> EntryPage {
    if start == nil { try commitPending() }
    return try database.page(
      withPrefix: prefix, from: start ?? EntryPage.Start(), length: length, at: clock.now, hiding: journal.hiddenKeys)
  }

  func bytesOnDisk() throws(CacheError) -> Int {
    try calling("Measuring \(directory)") { () throws(SystemError) in try place.directory.allocatedBytes() }
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
      if isOfAll, durability != .full { return try removeAll(withPrefix: nil, by: nil).checkCommitted() }
      // Trimming makes room for what waits. One job: a commit in between would take the reserve.
      try repeatingOnFullDisk { () throws(CacheError) in
        try writer.run { [self] in
          outcome { () throws(CacheError) in
            committer.giveReserve()
            try body(trimmer)
            giveSpaceBack()
          }
        }
        try commitOnFullDisk()
      }
    }
    try writer.run { [trimmer] in outcome { () throws(CacheError) in try body(trimmer) } }
  }

  /// Commits a removal on a full disk, and returns the freed space.
  func commitOnFullDisk() throws(CacheError) {
    if journal.isWriterThread { return }
    // A commit already under way may not include it.
    try writer.run { .success(()) }
    try repeatingOnFullDisk { () throws(CacheError) in
      writer.forgetFailure()
      try journal.commitPending(includesHidden: true)
    }
    try writer.run { [self] in
      giveSpaceBack()
      place.processLock.keepReserve()
      return .success(())
    }
  }

  /// Calls `body` up to three times. LMDB writes new pages before it reuses old ones, so each attempt makes room for the next.
  private func repeatingOnFullDisk(_ body: () throws(CacheError) -> Void) throws(CacheError) {
    for attempt in 1... {
      do throws(CacheError) { return try body() } catch {
        guard error.isOfFullDisk, attempt < 3 else { throw error }
      }
      try writer.run { [self] in
        giveSpaceBack()
        return .success(())
      }
    }
  }

  /// Returns free space in the files to the disk. Writer thread.
  private func giveSpaceBack() {
    committer.giveReserve()
    // It only takes space: the next round tries it again.
    _ = outcome { () throws(CacheError) in try valueKeeper.sweep() }
    _ = outcome { () throws(CacheError) in try space.sweep() }
  }
}
