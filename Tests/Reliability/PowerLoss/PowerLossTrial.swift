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

  private struct Base {
    let root: String
    let entries: PowerLossEntries
    let durability: Durability
    let state: [Int: Int]
    let nextNumber: Int
  }

  private mutating func run() throws {
    #if os(Linux)
      var (base, run) = (Base?.none, 0)
      for name in ["images", "runs", "second power cuts", "holes", "segments of values removed"] {
        report.count(name, 0)
      }
      while report["images"] < settings.count {
        base = try self.run(run, from: base)
        run += 1
      }
      reader?.end()
    #endif
  }

  /// Runs a writer and checks images of its disk. Returns one to continue on, or nil.
  private mutating func run(_ run: Int, from base: Base?) throws -> Base? {
    let root: String
    let entries: PowerLossEntries
    let durability: Durability
    if let base {
      (root, entries, durability) = (base.root, base.entries, base.durability)
      report.count("second power cuts")
    } else {
      root = settings.directory + "/disk-\(run)"
      try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
      (entries, durability) = (PowerLossEntries(seed: random.next()), Durability.allCases[freshRuns % 3])
      freshRuns += 1
    }
    report.count("runs")
    boot += 1
    let disk = try SimulatedDisk(root)
    let database = try? FileManager.default.attributesOfItem(atPath: root + "/cache/data.mdb")[.systemFileNumber]
    let log = settings.directory + "/log-\(run)"
    let first = base?.nextNumber ?? 1
    let writer = try ChildProcess(
      "soak",
      [
        "role", PowerLossWriter.name, root, log, "\(entries.seed)", "\(random.next())", "\(first)",
        "\(durability.rawValue)", "\(Self.changesPerRun)", "\(boot)",
      ])
    let complaints = writer.readRemaining()
    writer.end()
    let records = try WriteLogRecord.read(log)
    let history = PowerLossHistory(
      records, durability: durability, base: base?.state ?? [:],
      databases: Set([(database as? NSNumber)?.uint64Value].compactMap { $0 }))
    let place = "run \(run) (.\(durability))"
    if let failure = history.failure ?? complaints.first { report.fail("\(place): \(failure)") }
    report.count("writes acknowledged", history.acknowledged)
    report.count("holes", records.count { $0.operation == WRITE_LOG_HOLE })
    report.count("segments of values removed", records.count(where: \.isRemovalOfValues))

    var next: Base?
    var position = 0
    for moment in moments(of: records) {
      while position < moment {
        disk.apply(records[position])
        position += 1
      }
      let image = settings.directory + "/image"
      let choices = random
      try disk.writePowerCut(to: image, &random)
      let found = try look(at: image, at: moment, history, entries, durability, "\(place), record \(moment)")
      if let found, random.below(imagesPerRun) == 0, freshRuns >= 3 {
        // Build it again, since the reader changed it.
        let root = settings.directory + "/disk-\(run)-\(moment)"
        var same = choices
        try disk.writePowerCut(to: root, &same)
        next = Base(
          root: root, entries: entries, durability: durability, state: found,
          nextNumber: first + Self.changesPerRun)
        try FileManager.default.removeItem(atPath: image)
        break
      }
      if report.failureCount > 0, !FileManager.default.fileExists(atPath: image + "-failed") {
        var same = choices
        try disk.writePowerCut(to: image + "-failed", &same)
      }
      try FileManager.default.removeItem(atPath: image)
      if report["images"] >= settings.count { break }
    }
    if report.isPassed {
      try FileManager.default.removeItem(atPath: root)
      try FileManager.default.removeItem(atPath: log)
    }
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
    at image: String, at moment: Int, _ history: PowerLossHistory, _ entries: PowerLossEntries,
    _ durability: Durability, _ place: String
  ) throws -> [Int: Int]? {
    report.count("images")
    report.count("images of .\(durability)")
    boot += 1
    let reader = try self.reader ?? ChildProcess("soak", ["role", PowerLossReader.name], ending: .endOfInput)
    self.reader = reader
    reader.send("\(image)/cache \(entries.seed) \(durability.rawValue) \(boot)")
    var (found, discarded, failures): ([Int: Int], Int, [String]) = ([:], 0, [])
    while true {
      guard let line = reader.readLine() else {
        report.fail("\(place): the process that opened it has ended")
        self.reader = nil
        return nil
      }
      if line == "end" { break }
      let words = line.split(separator: " ")
      switch words[0] {
      case "entry": found[Int(words[1])!] = Int(words[2])!
      case "discarded": discarded = Int(words[1])!
      default: failures.append(line)
      }
    }
    if let failure = failures.first {
      report.fail("\(place): \(failure); \(failures.count) such")
      return nil
    }
    switch history.judge(found, discarded: discarded, at: moment) {
    case .kept(let missing):
      report.count("opened with all that had to be there")
      report.count("writes of .\(durability) missing", missing)
      if missing > 0 { report.count("images of .\(durability) with writes missing") }
    case .discarded: report.count("discarded")
    case .wrong(let failure):
      report.fail("\(place): \(failure)")
      return nil
    }
    return found
  }
}
