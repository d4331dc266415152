import ArgumentParser
import Foundation
import LMDBCaching

struct ReplayCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "replay", "Replays a trace of requests through a cache and measures it.",
    """
    Each request reads its key, and stores a value derived from the key if there is none. Every value found is compared \
    with the one stored. The key is the text of the line, or the number in decimal.

    The table counts requests by what answered them, with their times: those of the calls into the cache alone, that is \
    of the get, and for a miss of the get and the set. They include reading the clock, whose cost is printed, \
    and are off by up to a quarter.

    Without --cache the cache is temporary. With it, a second replay shows a warm start.

    Example:
      lmdb-cache replay Benchmarks/Traces/web12.trace.xz --format u32be --memory-count 1400

    Exits with 65 if a value was wrong. SIGINT ends the replay early, with the table so far and exit code 130.
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
      let directory = FileManager.default.temporaryDirectory.appendingPathComponent("lmdb-cache.\(UUID())")
      try FileManager.default.createDirectory(
        at: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
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
    let (cache, _) = try CacheOpening.open(directory, durability: durability, configuration: configuration) {
      try LMDBCache(directory: $0, configuration: $1)
    }
    let result = Result {
      try TraceReplay(trace, cache, valueBytes: valueBytes, threads: threads, interruption).run()
    }
    let closed = Result { try cache.close() }
    let outcome = try result.get()
    try closed.get()
    try Report(outcome).write(json: json)
    if outcome.health != "healthy" { StandardError.tell("the disk failed: \(outcome.health)") }
    if outcome.times.wrongValues > 0 {
      throw ToolError(
        .dataError,
        "\(Formatting.grouped(outcome.times.wrongValues)) wrong: not what a replay with --value-bytes \(valueBytes) stores"
      )
    }
    if outcome.isInterrupted {
      StandardError.tell("interrupted")
      throw ExitStatus.interrupted.code
    }
  }
}

extension Report {
  fileprivate init(_ outcome: TraceReplay.Outcome) {
    self.init(.right)
    let (times, before, after) = (outcome.times, outcome.before, outcome.after)
    let (hits, all) = (Int(times.hits.count), Quantiles(times.all))
    let requests = all?.requests ?? 0
    let diskHits = after.diskHits - before.diskHits
    let hitRatio = requests == 0 ? 0 : Double(hits) / Double(requests)
    let memoryEvictions = after.memoryEvictions - before.memoryEvictions
    let diskEvictions = after.diskEvictions - before.diskEvictions
    let seconds = Double(outcome.nanoseconds) / 1e9
    let rate = seconds > 0 ? Double(requests) / seconds : 0
    add("requests", requests, "requests")
    add("memoryHits", hits - diskHits, "memory hits")
    add("diskHits", diskHits, "disk hits")
    add("misses", times.misses.count, "misses")
    add("hitRatio", hitRatio, "hit ratio", Formatting.decimal(hitRatio * 100, places: 2) + " %")
    add("evictions", memoryEvictions + diskEvictions)
    add("memoryEvictions", memoryEvictions, "memory evictions")
    add("diskEvictions", diskEvictions, "disk evictions")
    add("wrongValues", times.wrongValues, "wrong values")
    add("threads", outcome.threads, "threads")
    add("seconds", seconds, "seconds", Formatting.decimal(seconds, places: 3))
    add("requestsPerSecond", rate, "requests/s", Formatting.grouped(Int(rate.rounded())))
    add("bytesOnDisk", outcome.bytesOnDisk, "bytes on disk")
    add("isInterrupted", outcome.isInterrupted)
    add("health", outcome.health)
    add("clockNanoseconds", outcome.clockNanoseconds)
    add("p50Nanoseconds", all?.p50Nanoseconds ?? 0)
    add("p99Nanoseconds", all?.p99Nanoseconds ?? 0)
    add("p999Nanoseconds", all?.p999Nanoseconds ?? 0)

    var table = TextTable([.left, .right, .right, .right, .right])
    table.append(["nanoseconds", "requests", "p50", "p99", "p99.9"])
    func line(_ label: String, _ quantiles: Quantiles?) {
      guard let quantiles else { return }
      let numbers = [
        quantiles.requests, quantiles.p50Nanoseconds, quantiles.p99Nanoseconds, quantiles.p999Nanoseconds,
      ]
      table.append([label] + numbers.map { Formatting.grouped($0) })
    }
    line("all", all)
    // The answering tier is known with one thread only.
    for (name, label, histogram, isShown) in [
      ("memoryHitTimes", "memory hit", times.memoryHits, true), ("diskHitTimes", "disk hit", times.diskHits, true),
      ("hitTimes", "hit", times.hits, outcome.threads > 1), ("missTimes", "miss and store", times.misses, true),
    ] {
      let quantiles = Quantiles(histogram)
      add(name, quantiles)
      if isShown { line(label, quantiles) }
    }
    let clock = "Of each time, about \(outcome.clockNanoseconds) ns are the clock's (twice that of a miss and store).\n"
    notes = "\n" + table.text + clock
  }
}
