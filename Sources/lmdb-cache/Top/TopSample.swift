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
    total["corruptedRecords"] = statistics.corruptedRecords
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

/// One process, as shown by `top`.
struct TopProcess: Encodable {
  let process: Int32
  let name: String
  let opened: Date
  let openSeconds: Int
  /// Absent in JSON without reads or data.
  let hitRatio: Double?
  let perSecond: TopFigures<Double>?
  let memoryEntries: Int
  let memoryCost: Int
  /// Bytes of uncommitted writes.
  let journalUsed: Int
  let isHealthy: Bool

  init(_ statistics: ProcessStatistics, _ interval: ProcessInterval?, now: ProcessStatistics.Moment) {
    process = statistics.process
    name = statistics.name
    opened = Date(timeIntervalSince1970: Double(statistics.opened.wall) / 1e9)
    // The wall clock may have been set since.
    openSeconds = Int(max(0, now.monotonic - statistics.opened.monotonic) / 1_000_000_000)
    hitRatio = interval.flatMap { $0.statistics.reads > 0 ? $0.statistics.hitRatio : nil }
    perSecond = interval.map { TopFigures($0.rate) }
    memoryEntries = statistics.memoryCount
    memoryCost = statistics.memoryCost
    journalUsed = statistics.journalUsed
    isHealthy = statistics.isHealthy
  }
}

/// How often something was done, by its name: in all, or per second.
typealias TopFigures<Figure> = [String: Figure]

extension TopFigures {
  private static var figures: [String: (CacheStatistics) -> Int] {
    [
      "reads": \.reads, "memoryHits": \.memoryHits, "diskHits": \.diskHits, "misses": \.misses, "sets": \.sets,
      "removals": \.removals, "loads": \.loads, "failedLoads": \.failedLoads, "staleServed": \.staleServed,
      "memoryEvictions": \.memoryEvictions, "diskEvictions": \.diskEvictions, "expirations": \.expirations,
      "commits": \.commits, "committedWrites": \.committedWrites, "failedCommits": \.failedCommits,
    ]
  }

  init(_ figure: ((CacheStatistics) -> Int) -> Value) where Key == String { self = Self.figures.mapValues(figure) }

  /// The sum of some.
  func sum(_ names: String...) -> Double where Key == String, Value == Double {
    names.reduce(0) { $0 + (self[$1] ?? 0) }
  }
}

/// Durations of the operations that were timed, by name.
typealias TopLatencies = [String: Quantiles]

extension TopLatencies {
  init(_ latencies: CacheLatencies) {
    let histograms = [
      "memoryHits": latencies.memoryHits, "diskReads": latencies.diskReads, "sets": latencies.writes,
      "loads": latencies.loads, "commits": latencies.commits,
    ]
    self = histograms.compactMapValues { Quantiles($0) }
  }
}

/// Earlier samples, for the curves of `top`.
struct TopHistory {
  /// More than the widest terminal shows.
  private static let length = 600

  private(set) var hitRatios: [Double?] = []
  private(set) var reads: [Double?] = []
  private(set) var writes: [Double?] = []

  mutating func append(_ sample: TopSample) {
    Self.append(sample.hitRatio, to: &hitRatios)
    Self.append(sample.perSecond?["reads"], to: &reads)
    Self.append(sample.perSecond?.sum("sets", "removals"), to: &writes)
  }

  private static func append(_ number: Double?, to numbers: inout [Double?]) {
    numbers.append(number)
    if numbers.count > 2 * length { numbers.removeFirst(numbers.count - length) }
  }
}
