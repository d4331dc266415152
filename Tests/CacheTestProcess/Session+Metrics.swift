import LMDBCaching
import Metrics
import MetricsTestKit

extension Session {
  private static let metrics = TestMetrics()

  /// - Returns: `nil` for an unknown command.
  func runMetrics(_ words: [Substring]) throws -> String? {
    switch words[0] {
    case "measure" where words.count == 1: MetricsSystem.bootstrap(Self.metrics)
    case "measure": try opened().disk.autoTrimInterval = .milliseconds(Int(words[1])!)
    case "counter": return String(Self.metrics.counterTotal(label: label(words)))
    case "timer": return String(Self.metrics.timers(label: label(words)).reduce(0) { $0 + $1.values.count })
    // The last reported value, or "none" without such a gauge.
    case "gauge":
      return Self.metrics.recorders(label: label(words)).last?.lastValue.map { String(Int($0)) } ?? "none"
    default: return nil
    }
    return "ok"
  }

  private func label(_ words: [Substring]) -> String { "lmdb_cache_\(words[1])" }
}
