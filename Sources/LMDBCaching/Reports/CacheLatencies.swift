/// The durations of a cache's operations. All loads and commits are counted, the others are sampled
/// (``SampledOperation``), so only their proportions matter.
package struct CacheLatencies: Sendable, Equatable {
  package var memoryHits = LatencyHistogram()
  package var diskReads = LatencyHistogram()
  /// Until they survive the death of the process.
  package var writes = LatencyHistogram()
  package var loads = LatencyHistogram()
  package var commits = LatencyHistogram()

  package init() {}

  /// In the published order.
  static let all: [any WritableKeyPath<CacheLatencies, LatencyHistogram> & Sendable] = [
    \.memoryHits, \.diskReads, \.writes, \.loads, \.commits,
  ]

  package func since(_ earlier: CacheLatencies) -> CacheLatencies {
    var difference = CacheLatencies()
    for path in Self.all { difference[keyPath: path] = self[keyPath: path].since(earlier[keyPath: path]) }
    return difference
  }

  package mutating func add(_ other: CacheLatencies) {
    for path in Self.all { self[keyPath: path].add(other[keyPath: path]) }
  }
}
