import Foundation
import LMDBCaching
import TestSupport

package enum KillTrial: Trial {
  package static let name = "kills"
  package static let summary =
    "Writers are killed at any moment: nothing acknowledged is lost, nothing is wrong or stuck."
  package static let defaultCount = 500

  /// Cycles that share a directory, so that each starts from the leftovers of the earlier ones.
  private static let cyclesOfDirectory = 10

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    var done = 0
    while done < settings.count, report.failureCount < 20 {
      let cycles = min(cyclesOfDirectory, settings.count - done)
      let durability = Durability.allCases[done / cyclesOfDirectory % Durability.allCases.count]
      let directory = settings.directory + "/\(done)"
      let before = report.failureCount
      try KillSession(directory, durability, random.next()).run(cycles: cycles, &report)
      report.count("cycles with durability .\(durability)", cycles)
      done += cycles
      // Keep the directory of a failed round.
      if report.failureCount == before { try FileManager.default.removeItem(atPath: directory) }
    }
    return report
  }
}
