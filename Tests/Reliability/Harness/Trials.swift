import CacheModel

package enum Trials {
  package static let all: [any Trial.Type] = [
    ChurnTrial.self, CorruptionTrial.self, DeletionTrial.self, FleetTrial.self, FullDiskTrial.self, KillTrial.self,
    ModelTrial.self, PowerLossTrial.self, SuspensionTrial.self, UserDefaultsTrial.self,
  ]

  /// Trials that are roles, too, and roles of trials.
  package static let roles: [any TrialRole.Type] = all.compactMap { $0 as? any TrialRole.Type } + others

  private static let others: [any TrialRole.Type] = [
    CacheUser.self, FullDiskStage.self, KillDumpRole.self, KillReaderRole.self, KillWriterRole.self,
    LongValueStage.self, PowerLossReader.self, PowerLossWriter.self,
  ]
}

/// Its role is the second process of a model.
package enum ModelTrial: Trial, TrialRole {
  package static let name = "model"
  package static let summary =
    "Random operations, processes, kills and failures on a cache and on a dictionary: both hold the same."
  package static let defaultCount = 2_000
  private static let steps = 600

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    for round in 0..<settings.count {
      let seed = settings.seed &+ UInt64(round)
      let history = ModelHistory(seed: seed, count: steps)
      let failure = try history.failure(
        startingChildrenBy: "soak", ["role", ModelTrial.name], in: settings.directory)
      if let failure { report.fail("\(failure)\nAgain: Scripts/soak model --seed \(seed) --count 1") }
      report.count("steps", steps)
      for (name, count) in history.counts.sorted(by: { $0.key < $1.key }) { report.count(name, count) }
    }
    return report
  }

  package static func run(_ arguments: [String]) throws { try ModelChild.serve(arguments) }
}
