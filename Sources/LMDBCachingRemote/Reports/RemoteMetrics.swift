import Metrics
import Synchronization

/// Reports what a distributed cache and its server do to a metrics system: each request as it ends, the rest every few
/// seconds and at the end.
final class RemoteMetrics: Sendable {
  private typealias Value = @Sendable (RemoteStatistics) -> Int

  private static let counted: [(String, Value)] = [
    ("requests", { $0.requests }), ("failures", { $0.failures }), ("hits", { $0.hits }), ("misses", { $0.misses }),
    ("loads", { $0.loads }), ("invalidations", { $0.invalidations }), ("gaps", { $0.gaps }),
    ("unreadable", { $0.unreadable }), ("given_up_writes", { $0.givenUpWrites }),
    ("breaker_openings", { $0.breakerOpenings }),
  ]

  private let requests: Timer
  private let counters: [(Counter, Value)]
  private let isInTouch: Gauge
  private let lag: Gauge
  private let suspendedReads: Gauge
  private let suspendedWrites: Gauge
  private let waitingWrites: Gauge
  private let waitingBytes: Gauge
  /// What each counter has been told.
  private let told = Mutex([Int](repeating: 0, count: counted.count))

  /// - Parameters: What tells the caches of a process apart.
  init(directory: String, prefix: String, _ factory: any MetricsFactory) {
    let dimensions = [("directory", directory), ("prefix", prefix)]
    func label(_ name: String) -> String { "lmdb_cache_remote_\(name)" }
    func gauge(_ name: String) -> Gauge { Gauge(label: label(name), dimensions: dimensions, factory: factory) }
    requests = Timer(label: label("request_duration"), dimensions: dimensions, factory: factory)
    counters = Self.counted.map { (Counter(label: label($0), dimensions: dimensions, factory: factory), $1) }
    isInTouch = gauge("in_touch")
    lag = gauge("lag_seconds")
    suspendedReads = gauge("reads_suspended")
    suspendedWrites = gauge("writes_suspended")
    waitingWrites = gauge("waiting_writes")
    waitingBytes = gauge("waiting_bytes")
  }

  func noteRequest(nanoseconds: Int64) { requests.recordNanoseconds(nanoseconds) }

  func record(_ statistics: RemoteStatistics, _ health: RemoteHealth) {
    told.withLock { told in
      for (index, (counter, value)) in counters.enumerated() {
        let new = value(statistics) - told[index]
        if new <= 0 { continue }
        counter.increment(by: new)
        told[index] += new
      }
    }
    isInTouch.record(health.isInTouch ? 1 : 0)
    lag.record(statistics.lag / .seconds(1))
    suspendedReads.record(health.areReadsSuspended ? 1 : 0)
    suspendedWrites.record(health.areWritesSuspended ? 1 : 0)
    waitingWrites.record(statistics.waitingWrites)
    waitingBytes.record(statistics.waitingBytes)
  }

  /// The cache is closed.
  func end() {
    for gauge in [isInTouch, lag, suspendedReads, suspendedWrites, waitingWrites, waitingBytes] { gauge.destroy() }
  }
}
