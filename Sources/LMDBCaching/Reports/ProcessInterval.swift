/// The activity of one process in an interval.
package struct ProcessInterval: Sendable {
  package let identifier: UInt64
  /// More than 0.
  package let seconds: Double
  package let statistics: CacheStatistics
  package let latencies: CacheLatencies

  /// Without `earlier`, everything is counted.
  init(since earlier: ProcessStatistics?, _ now: ProcessStatistics, _ nanoseconds: Int64) {
    identifier = now.identifier
    seconds = max(Double(nanoseconds), 1) / 1e9
    statistics = now.statistics.since(earlier?.statistics ?? CacheStatistics())
    latencies = now.latencies.since(earlier?.latencies ?? CacheLatencies())
  }

  package func rate(_ count: (CacheStatistics) -> Int) -> Double { Double(count(statistics)) / seconds }
}
