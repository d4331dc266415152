import ArgumentParser
import Foundation
import LMDBCaching

struct ReplayCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "replay",
    abstract: "Replays a trace of requests through a cache and measures it.",
    discussion: """
      Reads through: each request gets its key, and stores a value derived from the key if there is none. Every value \
      that is found is compared with what was stored. The key is the text of the line, or the number in decimal.

      The table counts requests by what answered them, and tells how long they took. A time is that of the calls into \
      the cache alone: of the get, and where nothing was found of the get and the set. Making and checking values is \
      in the seconds, but not in these times. Reading the clock is in them; what it costs is printed.

      Without --cache the cache is in a temporary directory that is removed afterwards. With it, a second replay \
      shows how the cache starts warm.

      Example:
        lmdb-cache replay Benchmarks/Traces/web12.trace.xz --format u32be --memory-count 1400

      Exits with 65 if a value was wrong. SIGINT ends the replay early, with the table so far and exit code 130.

      \(ExitStatus.explanation)
      """)

  @Argument(
    help: "The trace; - is standard input, and a file ending in .xz is unpacked with xz.", completion: .file())
  var file: String
  @Option(help: "u32be: big-endian unsigned 32-bit numbers; text: lines of UTF-8.") var format: TraceFormat
  @Option(
    help: ArgumentHelp("\(CacheOption.explanation) (default: a temporary one)", valueName: "dir"),
    completion: CacheCompletion.kind)
  var cache: String?
  @Option(help: "What a write promises, when the cache is created; one that exists keeps its own. (default: ordered)")
  var durability: Durability?
  @Option(help: ArgumentHelp("How many entries the memory tier holds. (default: no limit)", valueName: "n"))
  var memoryCount: Int?
  @Option(help: ArgumentHelp("What the memory tier's entries may cost. (default: no limit)", valueName: "bytes"))
  var memoryCost: Int?
  @Option(help: ArgumentHelp("How many entries the disk tier holds. (default: no limit)", valueName: "n"))
  var diskCount: Int?
  @Option(help: ArgumentHelp("The size of a value.", valueName: "n")) var valueBytes = 100
  @Option(help: ArgumentHelp("Threads, which take turns at blocks of \(TraceReplay.block) requests.", valueName: "n"))
  var threads = 1
  @Flag(help: "Writes an object in place of the table.") var json = false

  func validate() throws {
    for (name, value) in [("memory-count", memoryCount), ("memory-cost", memoryCost), ("disk-count", diskCount)] {
      if let value, value < 0 { throw ValidationError("--\(name) is 0 or more.") }
    }
    if !(0..<(1 << 32) ~= valueBytes) { throw ValidationError("--value-bytes is 0 … 4294967295.") }
    if !(1...1024 ~= threads) { throw ValidationError("--threads is 1 … 1024.") }
  }

  func run() throws {
    let trace = try Trace(contentsOf: file, format)
    if let cache {
      try replay(trace, in: CacheLocation.directory(cache))
    } else {
      let parent = FileManager.default.temporaryDirectory.path
      let directory = URL(fileURLWithPath: try Platform.makeTemporaryDirectory(in: parent), isDirectory: true)
      let result = Result { try replay(trace, in: directory) }
      try FileManager.default.removeItem(at: directory)
      try result.get()
    }
  }

  private func replay(_ trace: Trace, in directory: URL) throws {
    let interruption = Interruption()
    var configuration = CacheOpening.configuration
    configuration.memory = .unlimited
    if let memoryCount { configuration.memory.countLimit = memoryCount }
    if let memoryCost { configuration.memory.costLimit = memoryCost }
    if let diskCount { configuration.disk.countLimit = diskCount }
    let (cache, _) = try CacheOpening.orCreated(directory, configuration, durability: durability) {
      (directory, configuration) throws(CacheError) in
      try LMDBCache(directory: directory, configuration: configuration)
    }
    let result = Result {
      try TraceReplay(trace, cache, valueBytes: valueBytes, threads: threads, interruption).run()
    }
    let closed = Result { try cache.close() }
    let report = try result.get()
    try closed.get()
    try StandardOutput.write(json ? JSONOutput.encode(report) + "\n" : report.table)
    try conclude(report)
  }

  private func conclude(_ report: ReplayReport) throws {
    if report.health != "healthy" { StandardError.tell("the disk failed: \(report.health)") }
    if report.wrongValues > 0 {
      throw ToolError(
        .dataError,
        "\(Formatting.grouped(report.wrongValues)) wrong: not what a replay with --value-bytes \(valueBytes) stores")
    }
    if report.isInterrupted {
      StandardError.tell("interrupted")
      throw ExitStatus.interrupted.code
    }
  }
}

/// The results of a replay, as printed by `--json`.
struct ReplayReport: Encodable {
  let requests: Int
  let memoryHits: Int
  let diskHits: Int
  let misses: Int
  let hitRatio: Double
  /// Of both tiers.
  let evictions: Int
  let memoryEvictions: Int
  let diskEvictions: Int
  let wrongValues: Int
  let threads: Int
  let seconds: Double
  let requestsPerSecond: Double
  let p50Nanoseconds: UInt64
  let p99Nanoseconds: UInt64
  let p999Nanoseconds: UInt64
  /// By answering tier, which is known with one thread only.
  let memoryHitTimes: Quantiles?
  let diskHitTimes: Quantiles?
  let hitTimes: Quantiles?
  let missTimes: Quantiles?
  /// The time added to each measurement by reading the clock.
  let clockNanoseconds: UInt64
  let bytesOnDisk: Int
  let isInterrupted: Bool
  let health: String

  struct Quantiles: Encodable {
    let requests: Int
    let p50Nanoseconds: UInt64
    let p99Nanoseconds: UInt64
    let p999Nanoseconds: UInt64

    /// `nil` without records.
    init?(_ histogram: Histogram) {
      guard let median = histogram.quantile(0.5), let p99 = histogram.quantile(0.99),
        let p999 = histogram.quantile(0.999)
      else { return nil }
      requests = histogram.count
      p50Nanoseconds = median
      p99Nanoseconds = p99
      p999Nanoseconds = p999
    }
  }

  init(
    _ times: ReplayTimes, from before: CacheStatistics, to after: CacheStatistics, nanoseconds: UInt64,
    clockNanoseconds: UInt64, threads: Int, bytesOnDisk: Int, requestsInTrace: Int, health: CacheHealth
  ) {
    let all = Quantiles(times.all)
    requests = all?.requests ?? 0
    diskHits = after.diskHits - before.diskHits
    memoryHits = times.hits.count - diskHits
    misses = times.misses.count
    hitRatio = requests == 0 ? 0 : Double(times.hits.count) / Double(requests)
    memoryEvictions = after.memoryEvictions - before.memoryEvictions
    diskEvictions = after.diskEvictions - before.diskEvictions
    evictions = memoryEvictions + diskEvictions
    wrongValues = times.wrongValues
    self.threads = threads
    seconds = Double(nanoseconds) / 1e9
    requestsPerSecond = seconds > 0 ? Double(requests) / seconds : 0
    p50Nanoseconds = all?.p50Nanoseconds ?? 0
    p99Nanoseconds = all?.p99Nanoseconds ?? 0
    p999Nanoseconds = all?.p999Nanoseconds ?? 0
    memoryHitTimes = Quantiles(times.memoryHits)
    diskHitTimes = Quantiles(times.diskHits)
    hitTimes = Quantiles(times.hits)
    missTimes = Quantiles(times.misses)
    self.clockNanoseconds = clockNanoseconds
    self.bytesOnDisk = bytesOnDisk
    isInterrupted = requests < requestsInTrace
    self.health = health.text
  }
}

extension ReplayReport {
  var table: String {
    var counts = TextTable([.left, .right])
    counts.append(["requests", Formatting.grouped(requests)])
    counts.append(["memory hits", Formatting.grouped(memoryHits)])
    counts.append(["disk hits", Formatting.grouped(diskHits)])
    counts.append(["misses", Formatting.grouped(misses)])
    counts.append(["hit ratio", Formatting.decimal(hitRatio * 100, places: 2) + " %"])
    counts.append(["memory evictions", Formatting.grouped(memoryEvictions)])
    counts.append(["disk evictions", Formatting.grouped(diskEvictions)])
    counts.append(["wrong values", Formatting.grouped(wrongValues)])
    counts.append(["threads", Formatting.grouped(threads)])
    counts.append(["seconds", Formatting.decimal(seconds, places: 3)])
    counts.append(["requests/s", Formatting.grouped(Int(requestsPerSecond.rounded()))])
    counts.append(["bytes on disk", Formatting.grouped(bytesOnDisk)])

    var times = TextTable([.left, .right, .right, .right, .right])
    times.append(["nanoseconds", "requests", "p50", "p99", "p99.9"])
    if requests > 0 {
      times.append([
        "all", Formatting.grouped(requests), Formatting.grouped(p50Nanoseconds), Formatting.grouped(p99Nanoseconds),
        Formatting.grouped(p999Nanoseconds),
      ])
    }
    if threads == 1 {
      Self.append("memory hit", memoryHitTimes, to: &times)
      Self.append("disk hit", diskHitTimes, to: &times)
    } else {
      Self.append("hit", hitTimes, to: &times)
    }
    Self.append("miss and store", missTimes, to: &times)
    let clock = "Of each time, about \(clockNanoseconds) ns are the clock's (twice that of a miss and store).\n"
    return counts.text + "\n" + times.text + clock
  }

  private static func append(_ name: String, _ quantiles: Quantiles?, to table: inout TextTable) {
    guard let quantiles else { return }
    table.append([
      name, Formatting.grouped(quantiles.requests), Formatting.grouped(quantiles.p50Nanoseconds),
      Formatting.grouped(quantiles.p99Nanoseconds), Formatting.grouped(quantiles.p999Nanoseconds),
    ])
  }
}
extension CacheHealth {
  /// "healthy", or the problem.
  var text: String {
    switch self {
    case .healthy: "healthy"
    case .memoryOnly(let error): "\(error)"
    case .closed: "closed"
    }
  }
}
