/// The activity of all processes, each in its own interval: see ``ActivityMeter``.
package struct ActivityInterval: Sendable {
  package let processes: [ProcessInterval]
  /// Whether all processes that have the cache open are included.
  package let isComplete: Bool

  /// Sums over intervals that may differ by a second.
  package var statistics: CacheStatistics { processes.reduce(into: CacheStatistics()) { $0.add($1.statistics) } }

  package var latencies: CacheLatencies { processes.reduce(into: CacheLatencies()) { $0.add($1.latencies) } }

  package func rate(_ count: (CacheStatistics) -> Int) -> Double { processes.reduce(0) { $0 + $1.rate(count) } }
}
