import LMDBCaching
import Metrics
import MetricsTestKit

extension Session {
  private static let metrics = TestMetrics()

  /// - Returns: `nil` for an unknown command.
  func runMetrics(_ words: [Substring]) throws -> String? {
    switch words[0] {
    case "measure":
      if words.count == 1 {
        MetricsSystem.bootstrap(Self.metrics)
      } else {
        try opened().disk.autoTrimInterval = .milliseconds(Int(words[1])!)
      }
      return "ok"
    // A metrics system whose timers block until "resume".
    case "stall":
      MetricsSystem.bootstrap(StalledMetrics(Self.metrics))
      return "ok"
    case "resume":
      StalledMetrics.resume()
      return "ok"
    case "counter": return String(Self.metrics.counterTotal(label: label(words)))
    case "timer": return String(Self.metrics.timers(label: label(words)).reduce(0) { $0 + $1.values.count })
    // The last reported value, or "none" without such a gauge.
    case "gauge":
      return Self.metrics.recorders(label: label(words)).last?.lastValue.map { String(Int($0)) } ?? "none"
    default: return nil
    }
  }

  private func label(_ words: [Substring]) -> String { "lmdb_cache_\(words[1])" }
}
