/// What all processes have done, each in a time of its own: see ``ActivityMeter``.
package struct ActivityInterval: Sendable {
  /// Those of which something is known.
  package let processes: [ProcessInterval]
  /// Whether these are all that have the cache open.
  package let isComplete: Bool

  /// What they have done together; of times that may differ by as much as a second.
  package var statistics: CacheStatistics { processes.reduce(into: CacheStatistics()) { $0.add($1.statistics) } }

  package var latencies: CacheLatencies { processes.reduce(into: CacheLatencies()) { $0.add($1.latencies) } }

  /// How often a second something was counted by all of them.
  package func rate(_ count: (CacheStatistics) -> Int) -> Double { processes.reduce(0) { $0 + $1.rate(count) } }
}
