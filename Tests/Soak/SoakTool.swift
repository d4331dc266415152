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
