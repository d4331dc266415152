import Foundation
import LMDBCaching
import TestSupport
import WriteLog

/// Logs a process's writes and synchronizations, builds images of the disk after a power cut at moments of the log, and
/// opens each as after a boot. One count is an image.
package struct PowerLossTrial: Trial {
  package static let name = "power-loss"
  package static let summary = "Power fails with an arbitrary part of what was not synchronized on the disk."
  package static let defaultCount = 6_000

  private var imagesPerRun: Int { max(8, min(40, settings.count / 8)) }
  private static let changesPerRun = 120

  private let settings: TrialSettings
  private var random: SeededRandom
  private var report = TrialReport()
  private var reader: ChildProcess?
  private var boot: UInt64 = 1
  /// Runs on an empty disk; the first three use one durability each.
  private var freshRuns = 0

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var trial = PowerLossTrial(settings: settings, random: SeededRandom(settings.seed))
    try trial.run()
    return trial.report
  }

  private mutating func run() throws {
    #if os(Linux)
      var (base, run) = (Base?.none, 0)
      while report["images"] < settings.count {
        base = try self.run(run, from: base)
        run += 1
      }
      reader?.end()
    #endif
  }

  /// The disk before a run.
  private struct Base {
    let root: String
    let load: WriterLoad
    var contents: [String: WrittenValue] = [:]
    var nextNumber = 1
  }

  /// An empty disk.
  private mutating func newBase(_ run: Int) throws -> Base {
    let root = settings.directory + "/disk-\(run)"
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
    let load = WriterLoad(
      directory: root + "/cache", durability: Durability.allCases[freshRuns % 3].rawValue,
      interval: [0, 1, 5, 50][random.below(4)], journal: 64 << 10,
      // Values larger than a journal segment (16 KiB) bypass the journal.
      threshold: [1_000, 24_000][random.below(2)], memoryCount: 0,
      // Some segments of values hold several values, some just one.
      segment: 96 << 10, map: 1 << 20, size: [3_000, 3_000, 12_000, 40_000][random.below(4)],
      clears: random.below(2) == 0, seed: random.next())
    freshRuns += 1
    return Base(root: root, load: load)
  }

  /// Runs a writer and checks images of its disk. Returns one to continue on, or nil.
  private mutating func run(_ run: Int, from earlier: Base?) throws -> Base? {
    let base = try earlier ?? newBase(run)
    report.count("second power cuts", earlier == nil ? 0 : 1)
    boot += 1
    let disk = try SimulatedDisk(base.root)
    let database = try? SimulatedDisk.number(base.load.directory + "/data.mdb")
    let log = settings.directory + "/log-\(run)"
    let writer = try ChildProcess(
      "soak",
      [
        "role", PowerLossWriter.name, base.root, log, "\(base.nextNumber)", "\(Self.changesPerRun)", "\(boot)",
        base.load.text,
      ])
    let place = "run \(run) (.\(Durability(rawValue: base.load.durability)!))"
    let before = WrittenContents { writer.readLine() }
    if before?.values != base.contents || before?.faults != [] {
      report.fail("\(place): the writer finds something else than the reader before it: \(String(describing: before))")
    }
    let complaints = writer.readRemaining()
    writer.end()
    let records = try WriteLogRecord.read(log)
    let history = PowerLossHistory(records, base.load, base: base.contents, database: database)
    if let failure = history.failure ?? complaints.first { report.fail("\(place): \(failure)") }
    report.count("writes acknowledged", history.acknowledged)
    report.count("holes", records.count { $0.operation == WRITE_LOG_HOLE })
    report.count(
      "segments of values removed",
      records.count { $0.operation == WRITE_LOG_UNLINK && $0.path.hasSuffix(".values") })

    var next: Base?
    var position = 0
    let image = settings.directory + "/image"
    for moment in moments(of: records) where next == nil && report["images"] < settings.count {
      for record in records[position..<moment] { disk.apply(record) }
      position = moment
      var choices = random
      try disk.writePowerCut(to: image, &random)
      let found = try look(at: image, at: moment, history, base.load, "\(place), record \(moment)")
      try FileManager.default.removeItem(atPath: image)
      // Build it again, since the reader changed it.
      if let found, random.below(imagesPerRun) == 0, freshRuns >= 3 {
        let root = settings.directory + "/disk-\(run)-\(moment)"
        try disk.writePowerCut(to: root, &choices)
        var load = base.load
        load.directory = root + "/cache"
        next = Base(root: root, load: load, contents: found, nextNumber: base.nextNumber + Self.changesPerRun)
      }
    }
    if report.isPassed { for path in [base.root, log] { try FileManager.default.removeItem(atPath: path) } }
    return next
  }

  /// Some moments of a log in order, half of them next to ordering points.
  private mutating func moments(of records: [WriteLogRecord]) -> [Int] {
    let edges = records.indices.filter { records[$0].isEdge }
    return (0..<imagesPerRun).map { index in
      if index % 2 == 0 || edges.isEmpty { return random.below(records.count + 1) }
      return min(max(0, edges[random.below(edges.count)] + random.below(4) - 1), records.count)
    }.sorted()
  }

  /// Opens an image and returns its entries, unless something was wrong.
  private mutating func look(
    at image: String, at moment: Int, _ history: PowerLossHistory, _ load: WriterLoad, _ place: String
  ) throws -> [String: WrittenValue]? {
    let durability = Durability(rawValue: load.durability)!
    report.count("images")
    report.count("images of .\(durability)")
    boot += 1
    let reader = try self.reader ?? ChildProcess("soak", ["role", PowerLossReader.name], ending: .endOfInput)
    self.reader = reader
    var load = load
    load.directory = image + "/cache"
    reader.send("\(boot) \(try load.text)")
    guard let found = WrittenContents({ reader.readLine() }) else {
      self.reader = nil
      return fail("\(place): the process that opened it has ended")
    }
    if let failure = found.faults.first { return fail("\(place): \(failure); \(found.faults.count) such") }
    switch history.judge(found.values, at: moment) {
    case .kept(let missing):
      report.count("opened with all that had to be there")
      report.count("writes of .\(durability) missing", missing)
    case .discarded: report.count("discarded")
    case .wrong(let failure): return fail("\(place): \(failure)")
    }
    return found.values
  }

  private mutating func fail(_ failure: String) -> [String: WrittenValue]? {
    report.fail(failure)
    return nil
  }
}
