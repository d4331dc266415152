import Metrics
import Synchronization

/// Counters of a distributed cache's remote tier since it was made.
public struct RemoteStatistics: Sendable, Equatable {
  /// Requests to the server, those of the stream of changes not included.
  public var requests = 0
  /// Those that failed, or were not answered in time.
  public var failures = 0
  /// How long all of them took, one after the other.
  public var requestTime = Duration.zero
  /// Reads that the server answered with a value.
  public var hits = 0
  /// Reads that it had nothing for.
  public var misses = 0
  /// Values that were made here, since nobody in the fleet had them; those that failed are not among them.
  public var loads = 0
  /// Values of the server that could not be read.
  public var unreadable = 0
  /// Changes of the fleet, this machine's included, that were followed.
  public var invalidations = 0
  /// How often changes may have been missed: once at the beginning. Once it is counted, and while the server answers,
  /// what was stored before is served only after a check.
  public var gaps = 0
  /// Writes that wait to be sent.
  public var waitingWrites = 0
  /// How often requests were suspended, since the server failed several times in a row.
  public var breakerOpenings = 0
  /// Writes that were given up, since the server refused them by themselves, a value over its limit, say: they are
  /// lost.
  public var givenUpWrites = 0
  /// The bytes that the waiting ones take.
  public var waitingBytes = 0
  /// By how much what was followed of the stream of changes lags behind the newest one: zero if all of them were. While
  /// there is no touch, for how long nothing was heard of them.
  public var lag = Duration.zero
}

/// How a distributed cache and its server get on.
public struct RemoteHealth: Sendable, Equatable {
  /// Whether the changes of the other machines are heard of.
  public var isInTouch: Bool
  /// Whether reads of the server are suspended, since it failed several times in a row, and none has succeeded since.
  public var areReadsSuspended: Bool
  /// The same for writes: those of a server that is full, or a replica, are when its reads are not.
  public var areWritesSuspended: Bool
  /// Whether local entries are being held against the server, since changes may have been missed.
  public var isRevalidating: Bool
  /// Why there is no touch, or why requests are suspended.
  public var failure: RemoteTierError?

  /// Whether nothing is wrong with the server, as far as is known.
  public var isHealthy: Bool { isInTouch && !areReadsSuspended && !areWritesSuspended }

  /// Whether local values are served without asking the server: it is in touch, and what is here is known to be the
  /// newest. A host is ready for requests then; it answers them before, too.
  public var isSettled: Bool { isHealthy && !isRevalidating }
}

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
