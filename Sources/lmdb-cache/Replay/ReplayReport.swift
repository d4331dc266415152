import LMDBCaching

/// The results of a replay, as printed by `--json`.
struct ReplayReport: Encodable {
  let requests: Int
  let memoryHits: Int
  let diskHits: Int
  let misses: Int
  let hitRatio: Double
  /// Of both tiers.
  let evictions: Int
  let memoryEvictions: Int
  let diskEvictions: Int
  let wrongValues: Int
  let threads: Int
  let seconds: Double
  let requestsPerSecond: Double
  let p50Nanoseconds: UInt64
  let p99Nanoseconds: UInt64
  let p999Nanoseconds: UInt64
  /// By answering tier, which is known with one thread only.
  let memoryHitTimes: Quantiles?
  let diskHitTimes: Quantiles?
  let hitTimes: Quantiles?
  let missTimes: Quantiles?
  /// The time added to each measurement by reading the clock.
  let clockNanoseconds: UInt64
  let bytesOnDisk: Int
  let isInterrupted: Bool
  let health: String

  struct Quantiles: Encodable {
    let requests: Int
    let p50Nanoseconds: UInt64
    let p99Nanoseconds: UInt64
    let p999Nanoseconds: UInt64

    /// `nil` without records.
    init?(_ histogram: Histogram) {
      guard let median = histogram.quantile(0.5), let p99 = histogram.quantile(0.99),
        let p999 = histogram.quantile(0.999)
      else { return nil }
      requests = histogram.count
      p50Nanoseconds = median
      p99Nanoseconds = p99
      p999Nanoseconds = p999
    }
  }

  init(
    _ times: ReplayTimes, from before: CacheStatistics, to after: CacheStatistics, nanoseconds: UInt64,
    clockNanoseconds: UInt64, threads: Int, bytesOnDisk: Int, requestsInTrace: Int, health: CacheHealth
  ) {
    let all = Quantiles(times.all)
    requests = all?.requests ?? 0
    diskHits = after.diskHits - before.diskHits
    memoryHits = times.hits.count - diskHits
    misses = times.misses.count
    hitRatio = requests == 0 ? 0 : Double(times.hits.count) / Double(requests)
    memoryEvictions = after.memoryEvictions - before.memoryEvictions
    diskEvictions = after.diskEvictions - before.diskEvictions
    evictions = memoryEvictions + diskEvictions
    wrongValues = times.wrongValues
    self.threads = threads
    seconds = Double(nanoseconds) / 1e9
    requestsPerSecond = seconds > 0 ? Double(requests) / seconds : 0
    p50Nanoseconds = all?.p50Nanoseconds ?? 0
    p99Nanoseconds = all?.p99Nanoseconds ?? 0
    p999Nanoseconds = all?.p999Nanoseconds ?? 0
    memoryHitTimes = Quantiles(times.memoryHits)
    diskHitTimes = Quantiles(times.diskHits)
    hitTimes = Quantiles(times.hits)
    missTimes = Quantiles(times.misses)
    self.clockNanoseconds = clockNanoseconds
    self.bytesOnDisk = bytesOnDisk
    isInterrupted = requests < requestsInTrace
    self.health = health.text
  }
}
