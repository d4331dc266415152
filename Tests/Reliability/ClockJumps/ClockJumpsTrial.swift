import Foundation
import LMDBCaching
import TestSupport

package enum ClockJumpsTrial: Trial {
  package static let name = "clock-jumps"
  package static let summary =
    "The wall clock is set at random, before 1970 and after 2106 too: nothing expired is served, nothing else is lost."
  package static let defaultCount = 200

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    for round in 0..<settings.count {
      let seed = random.next()
      let path = settings.directory + "/\(round)"
      let outcome = try BoundedProcess.run("soak", ["role", ClockJumpsRole.name, path, "\(seed)"], within: 60)
      report.count("rounds")
      for answer in outcome.answers {
        let words = answer.split(separator: " ")
        if words.first == "checked" {
          report.count("entries checked", Int(words[1]) ?? 0)
          report.count("jumps", Int(words[2]) ?? 0)
        } else {
          report.fail("round \(round), seed \(seed): \(answer)")
        }
      }
      if !outcome.isOrderly { report.fail("round \(round), seed \(seed): \(outcome.ending)") }
      if report.failureCount > 20 { break }
      try FileManager.default.removeItem(atPath: path)
    }
    return report
  }
}
