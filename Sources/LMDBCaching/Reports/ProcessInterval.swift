/// What one process has done in a time.
package struct ProcessInterval: Sendable {
  /// ``ProcessStatistics/identifier``.
  package let identifier: UInt64
  /// More than 0.
  package let seconds: Double
  package let statistics: CacheStatistics
  package let latencies: CacheLatencies

  /// - Parameters:
  ///   - earlier: `nil`: nothing had been done.
  ///   - nanoseconds: From then to now.
  init(since earlier: ProcessStatistics?, _ now: ProcessStatistics, _ nanoseconds: Int64) {
    identifier = now.identifier
    seconds = max(Double(nanoseconds), 1) / 1e9
    statistics = now.statistics.since(earlier?.statistics ?? CacheStatistics())
    latencies = now.latencies.since(earlier?.latencies ?? CacheLatencies())
  }

  /// How often a second something was counted.
  package func rate(_ count: (CacheStatistics) -> Int) -> Double { Double(count(statistics)) / seconds }
}
