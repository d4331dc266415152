import Platform

/// The published activity of the processes that have a cache open, and the size of its files: see ``read(path:)``.
package struct CacheActivity: Sendable {
  package var moment = ProcessStatistics.Moment()
  /// In the order in which they opened the cache.
  package var processes: [ProcessStatistics] = []
  /// Further processes with unreadable statistics, or of another version of this package.
  package var unreadableProcesses = 0
  package var files = Files()

  package init() {}

  /// Bytes on the disk; `nil` if inaccessible.
  package struct Files: Sendable, Equatable {
    package var database = 0
    package var values: Int? = 0
    package var journals: Int? = 0

    package init() {}
  }

  /// The process with the latest count of entries.
  package var latestCount: ProcessStatistics? { processes.max { $0.transaction < $1.transaction } }

  /// Sums over the processes; entries in several count several times.
  package var memoryCount: Int { processes.reduce(0) { $0.addingClamped($1.memoryCount) } }
  package var memoryCost: Int { processes.reduce(0) { $0.addingClamped($1.memoryCost) } }

  /// Sums over the processes, each since it opened the cache.
  package var statistics: CacheStatistics {
    processes.reduce(into: CacheStatistics()) { $0.add($1.statistics) }
  }

  package var latencies: CacheLatencies { processes.reduce(into: CacheLatencies()) { $0.add($1.latencies) } }
}
