/// What one process that has a cache open says of itself, about every second: see ``CacheActivity``.
package struct ProcessStatistics: Sendable, Equatable {
  /// Tells this use of the cache from any other.
  package var identifier: UInt64 = 0
  package var process: Int32 = 0
  /// The program's name, as the process tells it.
  package var name = ""
  /// When the process opened the cache.
  package var opened = Moment()
  /// When it said this. It says nothing while nothing changes.
  package var published = Moment()

  /// Since it opened the cache, all of its memory tiers together. What the files are used for is not told.
  package var statistics = CacheStatistics()
  package var latencies = CacheLatencies()
  /// Entries in its memory tiers, and the sum of their costs.
  package var memoryCount = 0
  package var memoryCost = 0
  /// Entries on the disk, and the sum of their costs, as of ``transaction``.
  package var diskCount = 0
  package var diskCost = 0
  /// The last transaction of the database, of whichever process.
  package var transaction = 0
  /// Bytes of writes in its journal that wait for their commit, and of the journal; 0 before its first write.
  package var journalUsed = 0
  package var journalSize = 0
  /// Whether what it writes is committed; see ``CacheHealth``.
  package var isHealthy = true

  package init() {}

  /// A moment by two clocks, in nanoseconds.
  package struct Moment: Sendable, Equatable {
    /// Since 1970. May be set, and jump.
    package var wall: Int64 = 0
    /// Of the system's clock that never goes back, the same for all processes until the system ends.
    package var monotonic: Int64 = 0

    package init(wall: Int64 = 0, monotonic: Int64 = 0) {
      self.wall = wall
      self.monotonic = monotonic
    }
  }

  /// Numbers beside the counters, in the order in which they are published: what is new comes last.
  static let gauges: [any WritableKeyPath<ProcessStatistics, Int> & Sendable] = [
    \.memoryCount, \.memoryCost, \.diskCount, \.diskCost, \.transaction, \.journalUsed, \.journalSize,
  ]
}
