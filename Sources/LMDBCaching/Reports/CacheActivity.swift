import Platform

/// What the processes that have a cache open do, as they publish it, and what its files take up: see
/// ``read(path:)``.
package struct CacheActivity: Sendable {
  /// When it was read.
  package var moment = ProcessStatistics.Moment()
  /// The processes that have it open, in the order in which they opened it.
  package var processes: [ProcessStatistics] = []
  /// How many more have it open whose statistics cannot be read, or are of another version of this package.
  package var unreadableProcesses = 0
  package var files = Files()

  package init() {}

  /// Bytes that files occupy on the disk; `nil` for those that may not be looked at.
  package struct Files: Sendable, Equatable {
    package var database = 0
    package var values: Int? = 0
    package var journals: Int? = 0

    package init() {}
  }

  /// The process that knows best how many entries there are.
  package var latestCount: ProcessStatistics? { processes.max { $0.transaction < $1.transaction } }

  /// Entries in memory, and the sum of their costs, of all processes: what several have counts several times.
  package var memoryCount: Int { processes.reduce(0) { $0.addingClamped($1.memoryCount) } }
  package var memoryCost: Int { processes.reduce(0) { $0.addingClamped($1.memoryCost) } }

  /// Of all processes, each since it opened the cache.
  package var statistics: CacheStatistics {
    processes.reduce(into: CacheStatistics()) { $0.add($1.statistics) }
  }

  /// Of all processes, each since it opened the cache.
  package var latencies: CacheLatencies { processes.reduce(into: CacheLatencies()) { $0.add($1.latencies) } }
}
