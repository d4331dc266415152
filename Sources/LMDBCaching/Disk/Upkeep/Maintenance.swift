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
