import Foundation
import LMDBCaching
import TestSupport

/// Fills and frees small file systems, and lowers the file-size limit, while processes use a cache and die. One count
/// is a round of some hundred steps.
package struct FullDiskTrial: Trial {
  package static let name = "full-disk"
  package static let summary = "The disk fills up and is freed again, the process dies; nothing stored is lost."
  package static let defaultCount = 120

  private static let steps = 250

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    let places = FullDiskPlace.allCases.filter(\.isAvailable)
    report.count("rounds", 0)
    if places.isEmpty { return report }
    // Hashing gigabytes takes a sanitizer minutes.
    if places.contains(.tmpfs), !Sanitizer.address.isActive, !Sanitizer.thread.isActive {
      try tryLongValues("cut", settings, &report)
      let isLong = try settings.count >= 100 && LongValueStage.availableMemory() > LongValueStage.memory
      if isLong { try tryLongValues("longest", settings, &report) }
    }
    for round in 0..<settings.count {
      let place = places[round % places.count]
      let durability = Durability.allCases[round / places.count % 3]
      let seed = random.next()
      let directory = settings.directory + "/\(round)"
      let arguments = [
        FullDiskStage.name, place.rawValue, directory, "\(seed)", "\(durability.rawValue)", "\(Self.steps)",
      ]
      let stage =
        place == .limit ? try ChildProcess("soak", ["role"] + arguments) : try inNamespaceOfItsOwn(arguments)
      report.count("rounds")
      report.count("rounds on \(place)")
      let lines = stage.readRemaining()
      report.add(lines, of: "round \(round) on \(place) (.\(durability), seed \(seed))")
      stage.end()
      if lines.isEmpty { report.fail("round \(round) on \(place): it has ended by itself") }
      if report.isPassed {
        try FileManager.default.removeItem(atPath: directory)
        if place == .ext4 { try FileManager.default.removeItem(atPath: directory + ".image") }
      }
    }
    return report
  }

  private static func tryLongValues(_ way: String, _ settings: TrialSettings, _ report: inout TrialReport) throws {
    let stage = try inNamespaceOfItsOwn([LongValueStage.name, way, settings.directory + "/\(way)"])
    report.add(stage.readRemaining(), of: "long values")
    if stage.end() != .exit(0) { report.fail("long values: the process has ended by itself") }
    report.count("stages of long values")
  }

  private static func inNamespaceOfItsOwn(_ role: [String]) throws -> ChildProcess {
    try ChildProcess(
      URL(fileURLWithPath: "/usr/bin/unshare"),
      ["-m", "--propagation", "private", ChildProcess.path(of: "soak"), "role"] + role)
  }
}
