/// How long a cache's operations took.
///
/// All loads and commits are counted; of the others some are timed (``SampledOperation``): only the proportions of their
/// counts mean something.
package struct CacheLatencies: Sendable, Equatable {
  /// Values found in memory.
  package var memoryHits = LatencyHistogram()
  /// Reads of the disk tier, found or not, until the value is decoded.
  package var diskReads = LatencyHistogram()
  /// Sets of single values, until they survive the death of the process.
  package var writes = LatencyHistogram()
  /// Closures that load a value.
  package var loads = LatencyHistogram()
  /// Transactions that write what waits.
  package var commits = LatencyHistogram()

  package init() {}

  /// In the order in which they are published.
  static let all: [any WritableKeyPath<CacheLatencies, LatencyHistogram> & Sendable] = [
    \.memoryHits, \.diskReads, \.writes, \.loads, \.commits,
  ]

  /// What has come since they were as `earlier`.
  package func since(_ earlier: CacheLatencies) -> CacheLatencies {
    var difference = CacheLatencies()
    for path in Self.all { difference[keyPath: path] = self[keyPath: path].since(earlier[keyPath: path]) }
    return difference
  }

  package mutating func add(_ other: CacheLatencies) {
    for path in Self.all { self[keyPath: path].add(other[keyPath: path]) }
  }
}
