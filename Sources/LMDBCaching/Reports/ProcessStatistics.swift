/// One process's published statistics, updated about every second: see ``CacheActivity``.
package struct ProcessStatistics: Sendable, Equatable {
  /// Identifies this use of the cache.
  package var identifier: UInt64 = 0
  package var process: Int32 = 0
  package var name = ""
  package var opened = Moment()
  /// Publication pauses while nothing changes.
  package var published = Moment()

  /// Counters since it opened the cache, of all its memory tiers, without the use of the files.
  package var statistics = CacheStatistics()
  package var latencies = CacheLatencies()
  package var memoryCount = 0
  package var memoryCost = 0
  /// Entries on the disk and their total cost, in ``transaction``.
  package var diskCount = 0
  package var diskCost = 0
  /// The last transaction of the database, by any process.
  package var transaction = 0
  /// Bytes of uncommitted writes in its journal, and of the journal; 0 before its first write.
  package var journalUsed = 0
  package var journalSize = 0
  package var isHealthy = true

  package init() {}

  /// Nanoseconds by two clocks.
  package struct Moment: Sendable, Equatable {
    /// Since 1970; may jump.
    package var wall: Int64 = 0
    /// From the system's monotonic clock, which all processes share until a restart.
    package var monotonic: Int64 = 0

    package init(wall: Int64 = 0, monotonic: Int64 = 0) {
      self.wall = wall
      self.monotonic = monotonic
    }
  }

  /// In the published order: new ones come last.
  static let gauges: [any WritableKeyPath<ProcessStatistics, Int> & Sendable] = [
    \.memoryCount, \.memoryCost, \.diskCount, \.diskCost, \.transaction, \.journalUsed, \.journalSize,
  ]
}
