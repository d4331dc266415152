import LMDB
import Logging
import Platform
import Synchronization

/// Periodic work on the writer thread: limits, accesses, dead readers and obsolete marks.
final class Maintenance: Sendable {
  private let trimmer: Trimmer
  private let peers: PeerRecovery
  private let database: EntryDatabase
  private let journal: Journal
  private let meter: SpaceMeter
  private let observers: StoreObservers
  private let writer: Writer
  private let events: EventLog
  private let metrics: CacheMetrics
  private let isQueued = Atomic<Bool>(false)
  private let isTrimQueued = Atomic<Bool>(false)
  /// Whether entries were removed by tag since the last sweep, and the monotonic time of the next sweep.
  private let isSweepWanted = Atomic<Bool>(true)
  private let nextSweep = Atomic<Int64>(.min)

  init(
    _ trimmer: Trimmer, _ peers: PeerRecovery, _ database: EntryDatabase, _ journal: Journal,
    _ meter: SpaceMeter, _ observers: StoreObservers, _ writer: Writer, _ metrics: CacheMetrics, events: EventLog
  ) {
    self.trimmer = trimmer
    self.peers = peers
    self.database = database
    self.journal = journal
    self.meter = meter
    self.observers = observers
    self.writer = writer
    self.events = events
    self.metrics = metrics
  }

  /// Schedules all maintenance, unless it is scheduled already. Any thread.
  func enqueue() {
    if isQueued.exchange(true, ordering: .relaxed) { return }
    writer.enqueue { [self] in
      isQueued.store(false, ordering: .relaxed)
      events.logFailure(.warning, "cache not maintained", in: database.directoryName) { () throws(CacheError) in
        try maintain()
      }
    }
  }

  private func maintain() throws(CacheError) {
    for observer in observers.all { observer.recordReads() }
    try trimmer.flushRecency()
    try trimmer.trimToLimits()
    try database.checkReaders()
    try peers.sweepCommittedStamps()
    try trimmer.forgetTags(now: journal.lock.withLock { journal.state.stamps.present(journal.clock) })
    try recordMetrics()
  }

  /// Schedules a trim to the limits, unless one is scheduled already. Any thread.
  func enqueueTrim() {
    if isTrimQueued.exchange(true, ordering: .relaxed) { return }
    writer.enqueue { [self] in
      isTrimQueued.store(false, ordering: .relaxed)
      events.logFailure(.warning, "cache not trimmed", in: database.directoryName) { () throws(CacheError) in
        try trimmer.trimToLimits()
      }
    }
  }

  func wantSweep() { isSweepWanted.store(true, ordering: .relaxed) }

  /// Deletes entries that were removed by tag, in at most a tenth of the time. Writer thread, about once a second.
  func sweepIfWanted() {
    let start = journal.clock.monotonic
    guard isSweepWanted.load(ordering: .relaxed), start >= nextSweep.load(ordering: .relaxed) else { return }
    isSweepWanted.store(false, ordering: .relaxed)
    let error = events.logFailure(.warning, "cache tags not swept", in: database.directoryName) {
      () throws(CacheError) in try trimmer.sweep()
    }
    if error != nil { isSweepWanted.store(true, ordering: .relaxed) }
    let end = journal.clock.monotonic
    nextSweep.store(end.addingClamped((end - start).multipliedClamped(by: 9)), ordering: .relaxed)
  }

  /// Records the final metrics, before the files are closed.
  func recordLastMetrics() {
    do throws(CacheError) {
      try recordMetrics(isLast: true)
    } catch {
      events.log(.warning, "cache not measured", ["directory": "\(database.directoryName)", "error": "\(error)"])
    }
    metrics.end()
  }

  private func recordMetrics(isLast: Bool = false) throws(CacheError) {
    guard CacheMetrics.isSystemInstalled else { return }
    var statistics = observers.statistics
    database.counters.add(to: &statistics)
    journal.writes.add(to: &statistics)
    try meter.add(to: &statistics)
    let metadata = try database.metadata()
    metrics.record(statistics, count: metadata.count, cost: metadata.totalCost, isLast: isLast)
  }
}

/// The limits of the disk tier.
struct DiskLimits: Sendable {
  var count: Int
  var cost: Int
  var age: Duration?
  var freeDiskSpace: Int

  init(_ configuration: CacheConfiguration) {
    count = configuration.disk.countLimit
    cost = configuration.disk.costLimit
    age = configuration.disk.ageLimit
    freeDiskSpace = configuration.disk.freeSpaceLimit
  }

  /// Whether the tier exceeds a limit by a tenth, so that it is trimmed at once.
  func isFarExceeded(by metadata: CacheMetadata) -> Bool {
    metadata.count > count.addingClamped(count / 10) || metadata.totalCost > cost.addingClamped(cost / 10)
  }
}

/// Makes commits safe from a power cut, on request and after a required sync failed. Threads: any.
final class Synchronizer: Sendable {
  private let database: EntryDatabase
  private let journal: Journal
  private let values: ValueLog
  private let events: EventLog

  init(_ database: EntryDatabase, _ journal: Journal, _ values: ValueLog, events: EventLog) {
    self.database = database
    self.journal = journal
    self.values = values
    self.events = events
  }

  func synchronize() throws(CacheError) {
    try calling("Synchronizing the values of \(database.directoryName)") { try values.synchronizeAll() }
    try database.synchronize()
    journal.lock.withLock { journal.didSynchronize() }
  }

  /// Retries a failed sync that writes wait for.
  func synchronizeIfAwaited() {
    guard journal.lock.withLock({ journal.state.unsynchronized != nil }) else { return }
    do throws(CacheError) {
      try synchronize()
    } catch {
      events.log(
        .warning, "cache not synchronized", ["directory": "\(database.directoryName)", "error": "\(error)"])
    }
  }
}

/// Measures how a cache's files use their space. Any thread.
final class SpaceMeter: Sendable {
  private let database: EntryDatabase
  private let values: ValueLog
  private let current: CurrentDirectory

  init(_ database: EntryDatabase, _ values: ValueLog, _ current: CurrentDirectory) {
    self.database = database
    self.values = values
    self.current = current
  }

  /// Adds the measurements without a scan, because usage is counted as it changes.
  func add(to statistics: inout CacheStatistics) throws(CacheError) {
    let usage = try database.valueUsage()
    let (used, allocated) = (try usedByDatabase(), try allocatedByDatabase())
    let segments = try calling(activity) {
      try ValueFolder(cache: current.value).segments().reduce(0) {
        $0.addingClamped(max(0, $1.size - ValueSegment.headerSize))
      }
    }
    // Another process may have written in between.
    let reserved = min(values.reservedBytes, max(0, segments - usage.bytes))
    statistics.liveBytes += used.addingClamped(usage.bytes)
    statistics.deadBytes += max(0, segments - usage.bytes - reserved)
    statistics.freeBytes += max(0, allocated - used) + reserved
  }

  func usedByDatabase() throws(CacheError) -> Int {
    let info = try database.accessing(activity) { try database.environment.info() }
    return info.usedBytes
  }

  func allocatedByDatabase() throws(CacheError) -> Int {
    try calling(activity) { try current.value.status(of: CacheDirectory.dataName)?.allocatedBytes ?? 0 }
  }

  private var activity: String { "Measuring \(database.directoryName)" }
}
