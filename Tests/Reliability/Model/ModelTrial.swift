import Foundation
import TestSupport

package enum ModelTrial: Trial {
  package static let name = "model"
  package static let summary =
    "Random operations on a cache and on a dictionary: both hold the same, limits and expiry kept."
  package static let defaultCount = 600
  private static let steps = 1_500

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    for round in 0..<settings.count {
      let seed = settings.seed &+ UInt64(round)
      let directory = settings.directory + "/\(seed)"
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
      let model = try CacheModel(seed: seed, in: directory)
      var step = 0
      do {
        while step < steps {
          try model.step()
          step += 1
        }
        try model.end()
        try FileManager.default.removeItem(atPath: directory)
      } catch {
        report.fail(
          "step \(step): \(error). Before: \(model.log.suffix(10).joined(separator: "; ")). Again: "
            + "Scripts/soak model --seed \(seed) --count 1")
      }
      report.count("steps", step)
      for (name, count) in model.counts.sorted(by: { $0.key < $1.key }) { report.count(name, count) }
    }
    return report
  }
}
