import Foundation
import TestSupport

package enum HostileTrial: Trial {
  package static let name = "hostile"
  package static let summary =
    "Changed archives, records, journals and JSON are an error or a value, in little time and memory, and never a crash."
  package static let defaultCount = 1_400_000

  /// Crashes are expected; the command in the report reproduces them with a backtrace.
  private static var environment: [String: String] {
    ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
  }

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    let count = max(1, settings.count / UntrustedKind.allCases.count)
    for kind in UntrustedKind.allCases {
      var next = 0
      while next < count {
        let first = next
        let child = try ChildProcess(
          "soak", ["role", HostileReader.name, kind.rawValue, "\(settings.seed)", "\(first)", "\(count - first)"],
          environment: environment)
        var isFinished = false
        while let line = child.readLine() {
          if line.hasPrefix("at "), let number = Int(line.dropFirst(3)) { next = number }
          if line.hasPrefix("FAILED") { report.fail("\(kind.rawValue), seed \(settings.seed): \(line)") }
          if line.hasPrefix("read "), let read = Int(line.dropFirst(5)) {
            report.count("\(kind.rawValue) read as good", read)
            isFinished = true
          }
        }
        if isFinished {
          report.count("inputs", count - first)
          next = count
        } else {
          report.fail(
            """
            \(kind.rawValue): the process ended at one of the inputs after \(next): soak role \(HostileReader.name) \
            \(kind.rawValue) \(settings.seed) \(next) \(HostileReader.step)
            """)
          report.count("inputs", next - first)
          next = (next / HostileReader.step + 1) * HostileReader.step
        }
        if report.failureCount > 50 { return report }
      }
    }
    return report
  }
}
