import Foundation
import TestSupport

/// A trial whose rounds are processes: its role gets a directory and a seed, and prints figures and failures.
package protocol RoundTrial: Trial, TrialRole {}

extension RoundTrial {
  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    for round in 0..<settings.count where report.failureCount <= 20 {
      let (path, seed) = (settings.directory + "/\(round)", random.next())
      try report.run(Self.self, [path, "\(seed)"], within: 60, "round \(round), seed \(seed)")
      if report.isPassed { try FileManager.default.removeItem(atPath: path) }
    }
    return report
  }
}

extension TrialRole {
  /// Prints a figure for ``TrialReport/add(_:of:)``.
  static func count(_ name: String, _ number: Int = 1) { answer("count \(number) \(name)") }
}

extension TrialReport {
  /// Adds the output of a role: figures, `count NUMBER NAME`, and failures.
  mutating func add(_ lines: [String], of title: String) {
    for line in lines {
      let words = line.split(separator: " ", maxSplits: 2).map(String.init)
      if words.count == 3, words[0] == "count", let number = Int(words[1]) {
        count(words[2], number)
      } else {
        fail("\(title): \(line)")
      }
    }
  }

  /// Runs a role as a round. A process that crashes or hangs is a failure.
  mutating func run(
    _ role: any TrialRole.Type, _ arguments: [String], within seconds: Int, _ title: String
  ) throws {
    let outcome = try BoundedProcess.run("soak", ["role", role.name] + arguments, within: seconds)
    count("rounds")
    add(outcome.answers, of: title)
    if !outcome.isOrderly { fail("\(title): \(outcome.ending)") }
  }
}
