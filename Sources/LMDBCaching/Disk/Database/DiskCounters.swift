import Synchronization

final class DiskCounters: Sendable {
  let hits = Atomic<Int>(0)
  let misses = Atomic<Int>(0)
  let evictions = Atomic<Int>(0)
  let expirations = Atomic<Int>(0)
  let commits = Atomic<Int>(0)
  let committedWrites = Atomic<Int>(0)
  let failedCommits = Atomic<Int>(0)
  let corruptedRecords = Atomic<Int>(0)
  let replayedWrites = Atomic<Int>(0)
  let recoveries = Atomic<Int>(0)
  let reopenings = Atomic<Int>(0)
  /// Includes the memory tiers above.
  let latencies = LatencyRecorders()

  func add(to statistics: inout CacheStatistics) {
    statistics.diskHits += hits.load(ordering: .relaxed)
    statistics.misses += misses.load(ordering: .relaxed)
    statistics.diskEvictions += evictions.load(ordering: .relaxed)
    statistics.expirations += expirations.load(ordering: .relaxed)
    statistics.commits += commits.load(ordering: .relaxed)
    statistics.committedWrites += committedWrites.load(ordering: .relaxed)
    statistics.failedCommits += failedCommits.load(ordering: .relaxed)
    statistics.corruptedRecords += corruptedRecords.load(ordering: .relaxed)
    statistics.replayedWrites += replayedWrites.load(ordering: .relaxed)
    statistics.recoveries += recoveries.load(ordering: .relaxed)
    statistics.reopenings += reopenings.load(ordering: .relaxed)
  }
}

extension Atomic where Value == Int {
  @inline(__always)
  func increment(by amount: Int = 1) { wrappingAdd(amount, ordering: .relaxed) }
}
