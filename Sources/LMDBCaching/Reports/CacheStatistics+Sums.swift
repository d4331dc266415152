import Platform

extension CacheStatistics {
  /// What is counted, and never becomes less, but for ``loadTime``. In the order in which it is published: what is new comes
  /// last.
  static let counters: [any WritableKeyPath<CacheStatistics, Int> & Sendable] = [
    \.memoryHits, \.diskHits, \.misses, \.sets, \.removals, \.loads, \.failedLoads, \.staleServed, \.refreshes,
    \.memoryEvictions, \.diskEvictions, \.expirations, \.commits, \.committedWrites, \.failedCommits,
    \.corruptedRecords, \.replayedWrites, \.reopenings, \.recoveries,
  ]

  /// Reads of all tiers.
  package var reads: Int { memoryHits.addingClamped(diskHits).addingClamped(misses) }

  /// What has been counted since it was as `earlier`.
  package func since(_ earlier: CacheStatistics) -> CacheStatistics {
    var difference = CacheStatistics()
    for path in Self.counters { difference[keyPath: path] = max(0, self[keyPath: path] - earlier[keyPath: path]) }
    difference.loadTime = max(.zero, loadTime - earlier.loadTime)
    return difference
  }

  /// Adds what another process counted.
  package mutating func add(_ other: CacheStatistics) {
    for path in Self.counters { self[keyPath: path] = self[keyPath: path].addingClamped(other[keyPath: path]) }
    loadTime += other.loadTime
  }
}
