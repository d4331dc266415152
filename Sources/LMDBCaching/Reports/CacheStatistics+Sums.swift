import Platform

extension CacheStatistics {
  /// The monotonic counters except ``loadTime``, in the published order: new ones come last.
  static let counters: [any WritableKeyPath<CacheStatistics, Int> & Sendable] = [
    \.memoryHits, \.diskHits, \.misses, \.sets, \.removals, \.loads, \.failedLoads, \.staleServed, \.refreshes,
    \.memoryEvictions, \.diskEvictions, \.expirations, \.commits, \.committedWrites, \.failedCommits,
    \.corruptedRecords, \.replayedWrites, \.reopenings, \.recoveries,
  ]

  package var reads: Int { memoryHits.addingClamped(diskHits).addingClamped(misses) }

  package func since(_ earlier: CacheStatistics) -> CacheStatistics {
    var difference = CacheStatistics()
    for path in Self.counters { difference[keyPath: path] = max(0, self[keyPath: path] - earlier[keyPath: path]) }
    difference.loadTime = max(.zero, loadTime - earlier.loadTime)
    return difference
  }

  package mutating func add(_ other: CacheStatistics) {
    for path in Self.counters { self[keyPath: path] = self[keyPath: path].addingClamped(other[keyPath: path]) }
    loadTime += other.loadTime
  }
}
