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

/// The activity of all processes, each in its own interval: see ``ActivityMeter``.
package struct ActivityInterval: Sendable {
  package let processes: [ProcessInterval]
  /// Whether all processes that have the cache open are included.
  package let isComplete: Bool

  /// Sums over intervals that may differ by a second.
  package var statistics: CacheStatistics { processes.reduce(into: CacheStatistics()) { $0.add($1.statistics) } }

  package var latencies: CacheLatencies { processes.reduce(into: CacheLatencies()) { $0.add($1.latencies) } }

  package func rate(_ count: (CacheStatistics) -> Int) -> Double { processes.reduce(0) { $0 + $1.rate(count) } }
}

/// Computes rates from successive readings of each process's counters.
///
/// Processes publish about once a second, and only changes. So an older publication is taken as current, and a reading
/// without news while the next publication is due keeps the rates.
package struct ActivityMeter: Sendable {
  private struct Known {
    var statistics: ProcessStatistics
    var asOf: Int64
    var interval: ProcessInterval?
  }

  private var known: [UInt64: Known] = [:]
  private var hasReading = false

  /// Nanoseconds without news after which nothing has changed.
  static let silenceLimit: Int64 = 2_500_000_000

  package init() {}

  /// Returns the activity since the last reading. For a process in the first reading that is unknown; for a new process
  /// it is everything so far.
  package mutating func update(with activity: CacheActivity) -> ActivityInterval {
    let isFirst = !hasReading
    hasReading = true
    var next: [UInt64: Known] = [:]
    var intervals: [ProcessInterval] = []
    for statistics in activity.processes {
      let asOf = Self.asOf(statistics, activity.moment.monotonic)
      var own = known[statistics.identifier] ?? Known(statistics: statistics, asOf: asOf)
      if known[statistics.identifier] == nil {
        if !isFirst { own.interval = ProcessInterval(since: nil, statistics, asOf - statistics.opened.monotonic) }
      } else if asOf > own.asOf {
        own.interval = ProcessInterval(since: own.statistics, statistics, asOf - own.asOf)
        own.statistics = statistics
        own.asOf = asOf
      }
      next[statistics.identifier] = own
      if let interval = own.interval { intervals.append(interval) }
    }
    known = next
    return ActivityInterval(processes: intervals, isComplete: intervals.count == activity.processes.count)
  }

  /// The moment up to which its counts are complete.
  private static func asOf(_ statistics: ProcessStatistics, _ now: Int64) -> Int64 {
    let published = statistics.published.monotonic
    // From before a restart, or invalid.
    guard published <= now else { return now }
    return now - published > silenceLimit ? now : published
  }
}

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

extension CacheActivity {
  /// Reads the statistics of live processes for a cache, and measures its files, without opening or changing it.
  ///
  /// - Throws: `.invalidDirectory` without a cache; `.permissionDenied`, `.storageFailed`.
  package static func read(path: String) throws(CacheError) -> CacheActivity {
    let directory: Directory
    do throws(SystemError) {
      guard let existing = try Directory(existing: path) else { throw SystemError("open", path, errno: ENOENT) }
      directory = existing
    } catch {
      if [ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP].contains(error.errno) || error.finding != nil {
        throw Self.noCache(path)
      }
      throw CacheError(error, during: "Opening the cache directory \(path)")
    }
    let found = try calling("Looking at \(directory.path)") { try read(directory) }
    guard let found else { throw noCache(path) }
    return found
  }

  private static func noCache(_ path: String) -> CacheError {
    CacheError(.invalidDirectory, "There is no cache in \(path). Give the path of a cache's directory.")
  }

  private static func read(_ directory: Directory) throws(SystemError) -> CacheActivity? {
    guard let data = try directory.status(of: CacheDirectory.dataName), data.kind == .regular else { return nil }
    var activity = CacheActivity()
    activity.moment = ProcessStatistics.Moment(wall: RealTimeClock.nanoseconds, monotonic: MonotonicClock.nanoseconds)
    for found in try StatisticsFolder(cache: directory).read() {
      switch found {
      case .statistics(let statistics): activity.processes.append(statistics)
      case .unreadable: activity.unreadableProcesses += 1
      }
    }
    activity.processes.sort {
      ($0.opened.monotonic, $0.process, $0.identifier) < ($1.opened.monotonic, $1.process, $1.identifier)
    }
    activity.files.database = data.allocatedBytes
    activity.files.values = try size(of: ValueFolder.name, in: directory)
    activity.files.journals = try size(of: JournalName.folder, in: directory)
    return activity
  }

  private static func size(of folder: String, in directory: Directory) throws(SystemError) -> Int? {
    try CacheReader.ifAllowed { () throws(SystemError) in try directory.subdirectory(folder)?.allocatedBytes() ?? 0 }
  }
}
