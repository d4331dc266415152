import Foundation
import TestSupport

/// Its role reads inputs, and an input may crash it: `KIND SEED FIRST COUNT`.
package enum HostileTrial: Trial, TrialRole {
  package static let name = "hostile"
  package static let summary =
    "Changed archives, records, journals and JSON are an error or a value, in little time and memory, and never a crash."
  package static let defaultCount = 1_400_000

  /// Inputs of a process.
  private static let share = 2_000
  /// Processor time for one input, generous enough for a debug build on any machine.
  private static let mostSeconds = 2.0
  /// How much one input may add to the process's peak memory, in KiB.
  private static let mostMemory = 48 << 10

  package static func run(_ settings: TrialSettings) throws -> TrialReport {
    var report = TrialReport()
    let count = max(1, settings.count / UntrustedKind.allCases.count)
    for kind in UntrustedKind.allCases {
      for first in stride(from: 0, to: count, by: share) where report.failureCount <= 50 {
        let arguments = [kind.rawValue, "\(settings.seed)", "\(first)", "\(min(share, count - first))"]
        // The title reproduces it, with a backtrace.
        try report.run(Self.self, arguments, within: 600, (["soak role", name] + arguments).joined(separator: " "))
      }
    }
    return report
  }

  package static func run(_ arguments: [String]) throws {
    guard let kind = UntrustedKind(rawValue: arguments[0]) else { throw CocoaError(.featureUnsupported) }
    let (seed, first, total) = (UInt64(arguments[1])!, Int(arguments[2])!, Int(arguments[3])!)
    let inputs = try HostileInputs(kind, seed: seed)
    // Create one-time state before measuring.
    for bytes in try kind.seeds() { bytes.withUnsafeBytes { _ = kind.check($0) } }
    var read = 0
    var peak = peakMemory()
    for number in first..<first + total {
      let bytes = inputs[number]
      let start = processorTime()
      if bytes.withUnsafeBytes({ kind.check($0) }) { read += 1 }
      let seconds = processorTime() - start
      if seconds > mostSeconds { answer("input \(number): \(seconds) s for \(bytes.count) bytes") }
      let now = peakMemory()
      if now - peak > mostMemory { answer("input \(number): \(now - peak) KiB for \(bytes.count) bytes") }
      peak = max(peak, now)
    }
    count("inputs", total)
    count("\(kind.rawValue) read as good", read)
  }

  private static func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// In KiB.
  private static func peakMemory() -> Int {
    var usage = rusage()
    #if canImport(Darwin)
      getrusage(RUSAGE_SELF, &usage)
      return usage.ru_maxrss >> 10
    #else
      getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
      return usage.ru_maxrss
    #endif
  }
}
