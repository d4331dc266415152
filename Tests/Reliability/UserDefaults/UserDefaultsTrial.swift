import EFStorageCore
import EFStorageUserDefaults
import Foundation
import TestSupport

/// Its role sets a suite's contents, and exits or gets killed while the suite is written (`exit CONTENT MICROSECONDS`,
/// `wait CONTENT`), or prints the contents (`check`).
package enum UserDefaultsTrial: Trial, TrialRole {
  package static let name = "user-defaults"
  package static let summary =
    "A process exits, or is killed, while user defaults are written: an exit loses nothing, a kill at most the last set."
  package static let defaultCount = 500

  /// The number of constant entries besides the changing one.
  private static let constants = 100

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    var random = SeededRandom(settings.seed)
    var environment = ProcessInfo.processInfo.environment
    environment["XDG_CONFIG_HOME"] = settings.directory
    func start(_ words: String...) throws -> ChildProcess {
      try ChildProcess("soak", ["role", name] + words, environment: environment)
    }
    _ = try start("fill").readRemaining()
    var stored = "nil"
    for round in 0..<settings.count where report.failureCount <= 20 {
      // Changes are written after 100 ms.
      let delay = 97_000 + random.below(8_000)
      let isKilled = random.below(2) == 0
      report.count(isKilled ? "kills" : "exits")
      if isKilled {
        let process = try start("wait", "\(round)")
        if process.readLine() != "set" { report.fail("round \(round): nothing was set") }
        usleep(UInt32(delay))
        process.kill()
      } else {
        _ = try start("exit", "\(round)", "\(delay)").readRemaining()
      }
      let found = try start("check").readRemaining()
      let contents = Set(isKilled ? [stored, "\(round)"] : ["\(round)"]).map { "missing 0 changing \($0)" }
      // A file torn by the kill was replaced by its copy, and the loss was reported.
      let isRestored = isKilled && found.first?.hasPrefix("loss ") == true
      if isRestored { report.count("files restored") }
      if found.count != (isRestored ? 2 : 1) || !contents.contains(found.last ?? "") {
        report.fail("round \(round), after \(delay) µs: \(found), and not \(contents)")
      }
      stored = found.last?.split(separator: " ").last.map(String.init) ?? "nil"
      if stored == "\(round)" { report.count("contents kept") }
    }
    return report
  }

  package static func run(_ arguments: [String]) throws {
    guard let defaults = UserDefaults(suiteName: "suite") else { throw CocoaError(.fileNoSuchFile) }
    func reference(_ key: String) -> EFStorageUserDefaultsRef<Int> { .forKey(key, in: defaults) }
    switch arguments[0] {
    case "fill":
      for number in 0..<constants { reference("key\(number)").content = number }
    case "exit":
      reference("changing").content = Int(arguments[1])
      usleep(UInt32(arguments[2])!)
      exit(0)
    case "wait":
      reference("changing").content = Int(arguments[1])
      answer("set")
      while true { pause() }
    default:
      let observation = EFStorageFailure.observe { answer("\($0.kind) \($0.key)") }
      let missing = (0..<constants).count { reference("key\($0)").content != $0 }
      answer("missing \(missing) changing \(reference("changing").content.map(String.init) ?? "nil")")
      withExtendedLifetime(observation) {}
    }
  }
}
