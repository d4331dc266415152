import LMDB
import Logging
import Platform
import Synchronization

/// Periodic work on the writer thread: limits, accesses, dead readers and obsolete marks.
// Sendable: as the superclass.
final class Maintenance: StorePart, @unchecked Sendable {
  private let isQueued = Atomic<Bool>(false)
  private let isTrimQueued = Atomic<Bool>(false)
  /// Whether entries were removed by tag since the last sweep, and the monotonic time of the next sweep.
  private let isSweepWanted = Atomic<Bool>(true)
  private let nextSweep = Atomic<Int64>(.min)

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
    for observer in store.observers.all { observer.recordReads() }
    try store.trimmer.flushRecency()
    try store.trimmer.trimToLimits()
    try database.checkReaders()
    try store.peers.sweepCommittedStamps()
    try store.trimmer.forgetTags(now: journal.lock.withLock { journal.state.stamps.present(clock) })
    try recordMetrics()
  }

  /// Schedules a trim to the limits, unless one is scheduled already. Any thread.
  func enqueueTrim() {
    if isTrimQueued.exchange(true, ordering: .relaxed) { return }
    writer.enqueue { [self] in
      isTrimQueued.store(false, ordering: .relaxed)
      events.logFailure(.warning, "cache not trimmed", in: database.directoryName) { () throws(CacheError) in
        try store.trimmer.trimToLimits()
      }
    }
  }

  func wantSweep() { isSweepWanted.store(true, ordering: .relaxed) }

  /// Deletes entries that were removed by tag, in at most a tenth of the time. Writer thread, about once a second.
  func sweepIfWanted() {
    let start = clock.monotonic
    guard isSweepWanted.load(ordering: .relaxed), start >= nextSweep.load(ordering: .relaxed) else { return }
    isSweepWanted.store(false, ordering: .relaxed)
    let error = events.logFailure(.warning, "cache tags not swept", in: database.directoryName) {
      () throws(CacheError) in try store.trimmer.sweep()
    }
    if error != nil { isSweepWanted.store(true, ordering: .relaxed) }
    let end = clock.monotonic
    nextSweep.store(end.addingClamped((end - start).multipliedClamped(by: 9)), ordering: .relaxed)
  }

  /// Records the final metrics, before the files are closed.
  func recordLastMetrics() {
    do throws(CacheError) {
      try recordMetrics(isLast: true)
    } catch {
      events.log(.warning, "cache not measured", ["directory": "\(database.directoryName)", "error": "\(error)"])
    }
    store.metrics.end()
  }

  private func recordMetrics(isLast: Bool = false) throws(CacheError) {
    guard CacheMetrics.isSystemInstalled else { return }
    var statistics = store.observers.statistics
    database.counters.add(to: &statistics)
    journal.writes.add(to: &statistics)
    try store.addSpace(to: &statistics)
    let metadata = try database.metadata()
    store.metrics.record(statistics, count: metadata.count, cost: metadata.totalCost, isLast: isLast)
  }
}

extension CacheConfiguration.Disk {
  /// Whether the tier exceeds a limit by a tenth, so that it is trimmed at once.
  func isFarExceeded(by metadata: CacheMetadata) -> Bool {
    metadata.count > countLimit.addingClamped(countLimit / 10)
      || metadata.totalCost > costLimit.addingClamped(costLimit / 10)
  }
}

extension DiskStore {
  // MARK: Safety from power cuts. Any thread

  /// Makes all commits so far safe from a power cut.
  func synchronize() throws(CacheError) {
    try calling("Synchronizing the values of \(directory)") { try values.synchronizeAll() }
    try database.synchronize()
    journal.lock.withLock { journal.didSynchronize() }
  }

  /// Retries a failed sync that writes wait for.
  func synchronizeIfAwaited() {
    guard journal.lock.withLock({ journal.state.unsynchronized != nil }) else { return }
    do throws(CacheError) {
      try synchronize()
    } catch {
      events.log(.warning, "cache not synchronized", ["directory": "\(directory)", "error": "\(error)"])
    }
  }

  // MARK: Space. Any thread

  /// Adds how the files use their space, without a scan, because usage is counted as it changes.
  func addSpace(to statistics: inout CacheStatistics) throws(CacheError) {
    let usage = try database.valueUsage()
    let (used, allocated) = (try database.usedBytes(), try allocatedByDatabase())
    let segments = try calling("Measuring \(directory)") {
      try ValueFolder(cache: place.directory).segments().reduce(0) {
        $0.addingClamped(max(0, $1.size - ValueSegment.headerSize))
      }
    }
    // Another process may have written in between.
    let reserved = min(values.reservedBytes, max(0, segments - usage.bytes))
    statistics.liveBytes += used.addingClamped(usage.bytes)
    statistics.deadBytes += max(0, segments - usage.bytes - reserved)
    statistics.freeBytes += max(0, allocated - used) + reserved
  }

  func allocatedByDatabase() throws(CacheError) -> Int {
    try calling("Measuring \(directory)") {
      try place.directory.status(of: CacheDirectory.dataName)?.allocatedBytes ?? 0
    }
  }

  /// Gives back the blocks that the cache keeps for removals on a full disk.
  func giveReserve() {
    place.processLock.giveReserve()
    journal.giveBlocksBack()
  }
}
