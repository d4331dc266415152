import Metrics

/// Reports the counters of a cache to the metrics system that the process has installed, if any.
///
/// Called at every maintenance, never by an operation: what is counted on hot paths is counted without it.
struct CacheMetrics: Sendable {
  private let gauges: [(gauge: Gauge, value: @Sendable (CacheStatistics) -> Int)]
  private let count: Gauge
  private let cost: Gauge

  init(directory: String) {
    let dimensions = [("directory", directory)]
    func gauge(_ name: String) -> Gauge { Gauge(label: "lmdb_cache_\(name)", dimensions: dimensions) }
    gauges = [
      (gauge("memory_hits"), { @Sendable in $0.memoryHits }),
      (gauge("disk_hits"), { @Sendable in $0.diskHits }),
      (gauge("misses"), { @Sendable in $0.misses }),
      (gauge("loads"), { @Sendable in $0.loads }),
      (gauge("failed_loads"), { @Sendable in $0.failedLoads }),
      (gauge("stale_served"), { @Sendable in $0.staleServed }),
      (gauge("refreshes"), { @Sendable in $0.refreshes }),
      (gauge("load_milliseconds"), { @Sendable in Int(clamping: $0.loadTime.clampedNanoseconds / 1_000_000) }),
      (gauge("memory_evictions"), { @Sendable in $0.memoryEvictions }),
      (gauge("disk_evictions"), { @Sendable in $0.diskEvictions }),
      (gauge("expirations"), { @Sendable in $0.expirations }),
      (gauge("commits"), { @Sendable in $0.commits }),
      (gauge("failed_commits"), { @Sendable in $0.failedCommits }),
      (gauge("corrupted_records"), { @Sendable in $0.corruptedRecords }),
      (gauge("recoveries"), { @Sendable in $0.recoveries }),
      (gauge("live_bytes"), { @Sendable in $0.liveBytes }),
      (gauge("dead_bytes"), { @Sendable in $0.deadBytes }),
      (gauge("free_bytes"), { @Sendable in $0.freeBytes }),
    ]
    count = gauge("entries")
    cost = gauge("cost")
  }

  func record(_ statistics: CacheStatistics, count: Int, cost: Int) {
    for (gauge, value) in gauges { gauge.record(value(statistics)) }
    self.count.record(count)
    self.cost.record(cost)
  }
}
