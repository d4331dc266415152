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
      (gauge("memory_hits"), { $0.memoryHits }),
      (gauge("disk_hits"), { $0.diskHits }),
      (gauge("misses"), { $0.misses }),
      (gauge("memory_evictions"), { $0.memoryEvictions }),
      (gauge("disk_evictions"), { $0.diskEvictions }),
      (gauge("expirations"), { $0.expirations }),
      (gauge("commits"), { $0.commits }),
      (gauge("failed_commits"), { $0.failedCommits }),
      (gauge("corrupted_records"), { $0.corruptedRecords }),
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
