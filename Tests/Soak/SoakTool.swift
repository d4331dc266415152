import ArgumentParser
import Foundation
import Reliability

/// Runs the trials in their long form, bounded by a count and reproducible by seed.
@main struct SoakTool: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "soak", abstract: "Tries what the cache promises, at length.",
    discussion: "Trials:\n"
      + Trials.all.map { "  \($0.name)  \($0.summary) (\($0.defaultCount) rounds)" }.joined(separator: "\n"),
    subcommands: [RunCommand.self, RoleCommand.self], defaultSubcommand: RunCommand.self)
}

struct RunCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "run", abstract: "Runs trials; without names, all.")

  @Argument(help: "Which trials.") var names: [String] = []
  @Option(help: "Rounds of each trial; the default differs by trial.") var count: Int?
  @Option(help: "The seed of all random choices.") var seed: UInt64 = 1
  @Option(help: "Where the files go: an existing directory on a local disk.") var directory: String?

  func validate() throws {
    for name in names where !Trials.all.contains(where: { $0.name == name }) {
      throw ValidationError("Unknown trial \(name). See --help for the trials.")
    }
    if let count, count < 1 { throw ValidationError("--count must be 1 or more.") }
  }

  func run() throws {
    var isPassed = true
    for trial in Trials.all where names.isEmpty || names.contains(trial.name) {
      let parent = directory.map { URL(fileURLWithPath: $0) } ?? FileManager.default.temporaryDirectory
      let scratch = parent.appendingPathComponent("soak-\(trial.name)-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
      let settings = TrialSettings(count: count ?? trial.defaultCount, seed: seed, directory: scratch.path)
      print("\(trial.name): \(trial.summary)\n  --count \(settings.count) --seed \(seed)")
      let start = ContinuousClock.now
      let report = try trial.run(settings)
      let seconds = (ContinuousClock.now - start) / .seconds(1)
      for figure in report.figures { print("  \(figure.name): \(figure.value)") }
      for failure in report.failures { print("  FAILED: \(failure)") }
      print("  \(report.isPassed ? "passed" : "FAILED \(report.failureCount)"), \(Int(seconds.rounded())) s\n")
      // Keep the directory of a failed trial.
      if report.isPassed { try? FileManager.default.removeItem(at: scratch) } else { isPassed = false }
    }
    if !isPassed { throw ExitCode.failure }
  }
}

struct RoleCommand: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "role", shouldDisplay: false)

  @Argument var name: String
  @Argument(parsing: .captureForPassthrough) var arguments: [String] = []

  func run() throws {
    guard let role = Trials.roles.first(where: { $0.name == name }) else {
      throw ValidationError("There is no role \(name).")
    }
    try role.run(arguments)
  }
}
