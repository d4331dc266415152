import Foundation
import Reliability
import Testing

/// Runs a trial in a temporary directory and expects no failures.
func shortTrial(_ trial: any Trial.Type, count: Int, seed: UInt64 = 1) throws -> TrialReport {
  let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
    "\(trial.name)-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: directory) }
  let report = try trial.run(TrialSettings(count: count, seed: seed, directory: directory.path))
  for failure in report.failures { Issue.record("\(failure)") }
  return report
}
