import Metrics
import Synchronization

/// Counters of a distributed cache's remote tier since it was made.
public struct RemoteStatistics: Sendable, Equatable {
  /// Requests to the server, those of the stream of changes not included.
  public var requests = 0
  /// Those that failed, or were not answered in time.
  public var failures = 0
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
  /// How often changes may have been missed: once at the beginning. Older entries are then compared with the server.
  public var gaps = 0
  /// Writes that wait to be sent.
  public var waitingWrites = 0
  /// How often requests were suspended, since the server failed several times in a row.
  public var breakerOpenings = 0
  /// Writes lost because the server refused them, such as a value over its limit.
  public var givenUpWrites = 0
  public var waitingBytes = 0
  /// How far the followed changes are behind the newest; while out of touch, the time since the last was heard of.
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

  /// Whether local values are served without asking the server. A host is ready for requests then.
  public var isSettled: Bool { isHealthy && !isRevalidating }
}

/// Reports to a metrics system: each request as it ends, the rest every few seconds and at the end.
final class RemoteMetrics: Sendable {
  private typealias Count = @Sendable (RemoteStatistics) -> Int
  private typealias Measure = @Sendable (RemoteStatistics, RemoteHealth) -> Double

  private static let counted: [(String, Count)] = [
    ("requests", { $0.requests }), ("failures", { $0.failures }), ("hits", { $0.hits }), ("misses", { $0.misses }),
    ("loads", { $0.loads }), ("invalidations", { $0.invalidations }), ("gaps", { $0.gaps }),
    ("unreadable", { $0.unreadable }), ("given_up_writes", { $0.givenUpWrites }),
    ("breaker_openings", { $0.breakerOpenings }),
  ]
  private static let measured: [(String, Measure)] = [
    ("in_touch", { $1.isInTouch ? 1 : 0 }), ("lag_seconds", { statistics, _ in statistics.lag / .seconds(1) }),
    ("reads_suspended", { $1.areReadsSuspended ? 1 : 0 }), ("writes_suspended", { $1.areWritesSuspended ? 1 : 0 }),
    ("waiting_writes", { statistics, _ in Double(statistics.waitingWrites) }),
    ("waiting_bytes", { statistics, _ in Double(statistics.waitingBytes) }),
  ]

  private let requests: Timer
  private let counters: [(Counter, Count)]
  private let gauges: [(Gauge, Measure)]
  /// What each counter has been told.
  private let told = Mutex([Int](repeating: 0, count: counted.count))

  /// - Parameters: What tells the caches of a process apart.
  init(directory: String, prefix: String, _ factory: any MetricsFactory) {
    let dimensions = [("directory", directory), ("prefix", prefix)]
    func label(_ name: String) -> String { "lmdb_cache_remote_\(name)" }
    requests = Timer(label: label("request_duration"), dimensions: dimensions, factory: factory)
    counters = Self.counted.map { (Counter(label: label($0), dimensions: dimensions, factory: factory), $1) }
    gauges = Self.measured.map { (Gauge(label: label($0), dimensions: dimensions, factory: factory), $1) }
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
    for (gauge, value) in gauges { gauge.record(value(statistics, health)) }
  }

  /// The cache is closed.
  func end() { for (gauge, _) in gauges { gauge.destroy() } }
}
