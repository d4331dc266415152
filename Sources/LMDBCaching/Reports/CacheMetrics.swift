import Metrics

/// Reports a cache's activity to the process's metrics system, if installed.
///
/// Hot paths keep plain counters, which are reported at every maintenance and at the end. The handlers are made once a
/// system is installed, and first get the counts since the opening.
// Sendable: `handlers` and `told` are only used on the queue of `events`, which runs foreign code.
final class CacheMetrics: @unchecked Sendable {
  private let directory: String
  private let events: EventLog
  private var handlers: Handlers?
  /// The reported value of each counter.
  private var told = [Int](repeating: 0, count: Handlers.counters.count)

  private let isReported: Bool

  init(directory: String, events: EventLog, isReported: Bool) {
    self.isReported = isReported
    self.directory = directory
    self.events = events
  }

  static var isSystemInstalled: Bool { !(MetricsSystem.factory is NOOPMetricsHandler) }

  /// Calls `body` with the handlers on the event queue, if a metrics system is installed; dropped if too many events
  /// wait, unless `isEssential`.
  private func report(isEssential: Bool = false, _ body: @escaping @Sendable (CacheMetrics, Handlers) -> Void) {
    guard isReported, Self.isSystemInstalled else { return }
    let work: @Sendable () -> Void = { [self] in
      if handlers == nil, Self.isSystemInstalled { handlers = Handlers(directory: directory) }
      if let handlers { body(self, handlers) }
    }
    if isEssential { events.perform(work) } else { events.performIfInTime(work) }
  }

  func noteLoad(nanoseconds: Int64) { report { $1.loads.recordNanoseconds(nanoseconds) } }

  func noteCommit(nanoseconds: Int64) { report { $1.commits.recordNanoseconds(nanoseconds) } }

  /// The next call makes up for a dropped one, and the last is never dropped.
  func record(_ statistics: CacheStatistics, count: Int, cost: Int, isLast: Bool) {
    report(isEssential: isLast) { (own, handlers) in
      for (index, (counter, value)) in handlers.counters.enumerated() {
        // A concurrent reading may be behind the reported one.
        let new = value(statistics) - own.told[index]
        guard new > 0 else { continue }
        counter.increment(by: new)
        own.told[index] += new
      }
      for (gauge, value) in handlers.gauges { gauge.record(value(statistics)) }
      handlers.count.record(count)
      handlers.cost.record(cost)
    }
  }

  /// Destroys the gauges of the closed cache.
  func end() {
    report(isEssential: true) { (own, handlers) in
      for (gauge, _) in handlers.gauges { gauge.destroy() }
      handlers.count.destroy()
      handlers.cost.destroy()
      own.handlers = nil
    }
  }
}

extension CacheMetrics {
  fileprivate struct Handlers {
    typealias Value = @Sendable (CacheStatistics) -> Int

    let counters: [(Counter, Value)]
    let gauges: [(Gauge, Value)]
    let count: Gauge
    let cost: Gauge
    let loads: Metrics.Timer
    let commits: Metrics.Timer

    static let counters: [(String, Value)] = [
      ("memory_hits", { $0.memoryHits }), ("disk_hits", { $0.diskHits }), ("misses", { $0.misses }),
      ("sets", { $0.sets }), ("removals", { $0.removals }),
      ("loads", { $0.loads }), ("failed_loads", { $0.failedLoads }), ("stale_served", { $0.staleServed }),
      ("refreshes", { $0.refreshes }), ("memory_evictions", { $0.memoryEvictions }),
      ("disk_evictions", { $0.diskEvictions }), ("expirations", { $0.expirations }), ("commits", { $0.commits }),
      ("committed_writes", { $0.committedWrites }), ("failed_commits", { $0.failedCommits }),
      ("corrupted_records", { $0.corruptedRecords }), ("recoveries", { $0.recoveries }),
    ]

    private static let gauges: [(String, Value)] = [
      ("live_bytes", { $0.liveBytes }), ("dead_bytes", { $0.deadBytes }), ("free_bytes", { $0.freeBytes }),
    ]

    init(directory: String) {
      let dimensions = [("directory", directory)]
      func label(_ name: String) -> String { "lmdb_cache_\(name)" }
      func gauge(_ name: String) -> Gauge { Gauge(label: label(name), dimensions: dimensions) }
      func timer(_ name: String) -> Metrics.Timer { Metrics.Timer(label: label(name), dimensions: dimensions) }
      counters = Self.counters.map { (Counter(label: label($0), dimensions: dimensions), $1) }
      gauges = Self.gauges.map { (gauge($0), $1) }
      count = gauge("entries")
      cost = gauge("cost")
      loads = timer("load_duration")
      commits = timer("commit_duration")
    }
  }
}
