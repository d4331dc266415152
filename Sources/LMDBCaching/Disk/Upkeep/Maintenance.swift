import Logging
import Synchronization

/// What is done now and then on the writer thread: limits, accesses, dead readers and marks that nobody needs.
final class Maintenance: Sendable {
  private let trimmer: Trimmer
  private let peers: PeerRecovery
  private let database: EntryDatabase
  private let meter: SpaceMeter
  private let observers: StoreObservers
  private let writer: Writer
  private let events: EventLog
  private let metrics: CacheMetrics
  private let isTrimQueued = Atomic<Bool>(false)

  init(
    _ trimmer: Trimmer, _ peers: PeerRecovery, _ database: EntryDatabase, _ meter: SpaceMeter,
    _ observers: StoreObservers, _ writer: Writer, events: EventLog
  ) {
    self.trimmer = trimmer
    self.peers = peers
    self.database = database
    self.meter = meter
    self.observers = observers
    self.writer = writer
    self.events = events
    metrics = CacheMetrics(directory: database.directoryName)
  }

  /// Everything, soon. Any thread.
  func enqueue() {
    writer.enqueue { [self] in
      do throws(CacheError) {
        try maintain()
      } catch {
        events.log(.warning, "cache not maintained", ["directory": "\(database.directoryName)", "error": "\(error)"])
      }
    }
  }

  private func maintain() throws(CacheError) {
    for observer in observers.all { observer.recordReads() }
    try trimmer.flushRecency()
    try trimmer.trimToLimits()
    try database.checkReaders()
    try peers.sweepCommittedStamps()
    try recordMetrics()
  }

  /// Trims to the limits, soon; a trim that waits already is enough. Any thread.
  func enqueueTrim() {
    if isTrimQueued.exchange(true, ordering: .relaxed) { return }
    writer.enqueue { [self] in
      isTrimQueued.store(false, ordering: .relaxed)
      do throws(CacheError) {
        try trimmer.trimToLimits()
      } catch {
        events.log(.warning, "cache not trimmed", ["directory": "\(database.directoryName)", "error": "\(error)"])
      }
    }
  }

  private func recordMetrics() throws(CacheError) {
    var statistics = CacheStatistics()
    database.counters.add(to: &statistics)
    try meter.add(to: &statistics)
    for observer in observers.all { observer.add(to: &statistics) }
    let metadata = try database.metadata()
    // A metrics system is somebody else's code, and may use the cache.
    events.perform { [metrics, statistics] in
      metrics.record(statistics, count: metadata.count, cost: metadata.totalCost)
    }
  }
}
