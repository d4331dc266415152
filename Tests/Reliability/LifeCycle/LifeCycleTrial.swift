import Foundation
import LMDBCaching
import TestSupport

package enum LifeCycleTrial: Trial {
  package static let name = "life-cycle"
  package static let summary =
    "Threads open, close and open the same directories again: nothing that was told is missing, nobody waits for ever."
  package static let defaultCount = 100

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    for round in 0..<settings.count {
      let seed = random.next()
      let path = settings.directory + "/\(round)"
      let outcome = try BoundedProcess.run(
        "soak", ["role", LifeCycleRole.name, path, "\(seed)"], within: 60)
      report.count("rounds")
      for answer in outcome.answers {
        let words = answer.split(separator: " ", maxSplits: 1).map(String.init)
        if words[0] == "opened" {
          report.count("openings", Int(words[1]) ?? 0)
        } else {
          report.fail("round \(round), seed \(seed): \(answer)")
        }
      }
      if !outcome.isOrderly { report.fail("round \(round), seed \(seed): \(outcome.ending)") }
      if report.failureCount > 10 { break }
      try FileManager.default.removeItem(atPath: path)
    }
    return report
  }
}
