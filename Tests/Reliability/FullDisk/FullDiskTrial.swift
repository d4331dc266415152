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
    // Only in the long form, as root, with enough memory.
    if settings.count >= 100, places.contains(.tmpfs), try LongValueStage.availableMemory() > LongValueStage.memory {
      let stage = try inNamespaceOfItsOwn([LongValueStage.name, settings.directory + "/long"])
      for line in stage.readRemaining() { report.fail("a long value: \(line)") }
      if stage.end() != .exit(0) { report.fail("a long value: the process has ended by itself") }
      report.count("values of 4 GiB less a byte")
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
      var isFinished = false
      for line in stage.readRemaining() {
        let words = line.split(separator: " ", maxSplits: 2).map(String.init)
        if words[0] == "count" {
          report.count(words[2], Int(words[1])!)
          isFinished = true
        } else {
          report.fail("round \(round) (.\(durability), seed \(seed)): \(line)")
        }
      }
      stage.end()
      if !isFinished { report.fail("round \(round) on \(place): it has ended by itself") }
      if report.isPassed {
        try FileManager.default.removeItem(atPath: directory)
        if place == .ext4 { try FileManager.default.removeItem(atPath: directory + ".image") }
      }
    }
    return report
  }

  private static func inNamespaceOfItsOwn(_ role: [String]) throws -> ChildProcess {
    try ChildProcess(
      URL(fileURLWithPath: "/usr/bin/unshare"),
      ["-m", "--propagation", "private", ChildProcess.path(of: "soak"), "role"] + role)
  }
}
