import Foundation
import TestSupport

package enum UserDefaultsTrial: Trial {
  package static let name = "user-defaults"
  package static let summary =
    "A process exits, or is killed, while user defaults are written: an exit loses nothing, a kill at most the last set."
  package static let defaultCount = 500

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    var environment = ProcessInfo.processInfo.environment
    environment["XDG_CONFIG_HOME"] = settings.directory
    func start(_ words: String...) throws -> ChildProcess {
      try ChildProcess("soak", ["role", UserDefaultsRole.name] + words, environment: environment)
    }
    _ = try start("fill", "suite").readRemaining()
    var stored = "nil"
    for round in 0..<settings.count {
      // Changes are written after 100 ms.
      let delay = 97_000 + random.below(8_000)
      var allowed: Set<String> = ["\(round)"]
      if random.below(2) == 0 {
        report.count("exits")
        _ = try start("exit", "suite", "\(round)", "\(delay)").readRemaining()
      } else {
        report.count("kills")
        allowed.insert(stored)
        let process = try start("wait", "suite", "\(round)")
        if process.readLine() != "set" { report.fail("round \(round): nothing was set") }
        usleep(UInt32(delay))
        process.kill()
      }
      let found = try start("check", "suite").readRemaining()
      let contents = allowed.map { "missing 0 changing \($0)" }
      // A file torn by the kill was replaced by its copy, and the loss was reported.
      let isRestored = allowed.count == 2 && found.first?.hasPrefix("loss ") == true
      if isRestored { report.count("files restored") }
      if found.count != (isRestored ? 2 : 1) || !contents.contains(found.last ?? "") {
        report.fail("round \(round), after \(delay) µs: \(found), and not \(contents)")
      }
      stored = found.last?.split(separator: " ").last.map(String.init) ?? "nil"
      if stored == "\(round)" { report.count("contents kept") }
      if report.failureCount > 20 { break }
    }
    return report
  }
}
