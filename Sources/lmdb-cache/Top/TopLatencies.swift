import LMDBCaching

/// Durations of the operations that were timed.
struct TopLatencies: Encodable {
  /// Absent in JSON if none was timed.
  let memoryHits: Quantiles?
  let diskReads: Quantiles?
  let sets: Quantiles?
  let loads: Quantiles?
  let commits: Quantiles?

  struct Quantiles: Encodable {
    let p50Nanoseconds: Int
    let p99Nanoseconds: Int

    init?(_ histogram: LatencyHistogram) {
      guard let median = histogram.quantile(0.5), let p99 = histogram.quantile(0.99) else { return nil }
      p50Nanoseconds = median
      p99Nanoseconds = p99
    }
  }

  init(_ latencies: CacheLatencies) {
    memoryHits = Quantiles(latencies.memoryHits)
    diskReads = Quantiles(latencies.diskReads)
    sets = Quantiles(latencies.writes)
    loads = Quantiles(latencies.loads)
    commits = Quantiles(latencies.commits)
  }
}
