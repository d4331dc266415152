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
