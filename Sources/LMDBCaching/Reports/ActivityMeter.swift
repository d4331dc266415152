/// Makes rates of readings that follow each other: what each process has done between two of them.
///
/// Processes publish about once a second, and nothing while nothing changes. So a publication that is older than that is
/// believed to be how things still are, and a reading in which a process has said nothing new, as its next word is due,
/// leaves its rates as they were.
package struct ActivityMeter: Sendable {
  /// What a process was known to have done at a moment.
  private struct Known {
    var statistics: ProcessStatistics
    /// On the monotonic clock.
    var asOf: Int64
    var interval: ProcessInterval?
  }

  private var known: [UInt64: Known] = [:]
  private var hasReading = false

  /// Nanoseconds after which a process would have said something new.
  static let silenceLimit: Int64 = 2_500_000_000

  package init() {}

  /// Takes another reading, and returns what has been done since the ones before. Of a process that is met for the first
  /// time, in the first reading, nothing is known; of one that has come since, everything it has done.
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
    // Of another run of the system, or nobody's clock.
    guard published <= now else { return now }
    return now - published > silenceLimit ? now : published
  }
}
