import Foundation
import LMDBCaching

/// What `top` has found out at one moment, as `--json` prints it.
struct TopSample: Encodable {
  let directory: String
  let date: Date
  /// Hits of either tier by reads. Absent in JSON: nothing was read, or nothing is known yet.
  let hitRatio: Double?
  /// The same since each process opened the cache.
  let overallHitRatio: Double?
  /// Counts of all processes by seconds of the interval. Absent: nothing is known yet.
  let perSecond: TopFigures<Double>?
  /// Counts of all processes, since each opened the cache.
  let total: TopFigures<Int>
  /// Of what was done in the interval.
  let latencies: TopLatencies
  let overallLatencies: TopLatencies
  let memoryEntries: Int
  let memoryCost: Int
  /// Absent: no process says.
  let diskEntries: Int?
  let diskCost: Int?
  /// What the files occupy. Absent: they may not be looked at.
  let databaseBytes: Int
  let valueBytes: Int?
  let journalBytes: Int?
  /// Processes whose statistics cannot be read, or are of another version.
  let unreadableProcesses: Int
  let processes: [TopProcess]

  init(directory: String, _ activity: CacheActivity, _ interval: ActivityInterval) {
    self.directory = directory
    date = Date(timeIntervalSince1970: Double(activity.moment.wall) / 1e9)
    let recent = interval.statistics
    let statistics = activity.statistics
    hitRatio = recent.reads > 0 ? recent.hitRatio : nil
    overallHitRatio = statistics.reads > 0 ? statistics.hitRatio : nil
    perSecond = interval.isComplete && !activity.processes.isEmpty ? TopFigures(interval.rate) : nil
    var total = TopFigures { $0(statistics) }
    total.corruptedRecords = statistics.corruptedRecords
    self.total = total
    latencies = TopLatencies(interval.latencies)
    overallLatencies = TopLatencies(activity.latencies)
    memoryEntries = activity.memoryCount
    memoryCost = activity.memoryCost
    diskEntries = activity.latestCount?.diskCount
    diskCost = activity.latestCount?.diskCost
    (databaseBytes, valueBytes, journalBytes) = (
      activity.files.database, activity.files.values, activity.files.journals
    )
    unreadableProcesses = activity.unreadableProcesses
    let intervals = Dictionary(
      interval.processes.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
    processes = activity.processes.map { TopProcess($0, intervals[$0.identifier], now: activity.moment) }
  }
}
