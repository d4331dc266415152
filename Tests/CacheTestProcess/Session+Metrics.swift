import Dispatch
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
    // A metrics system whose timers block until "resume".
    case "stall": MetricsSystem.bootstrap(StalledMetrics(Self.metrics))
    case "resume": StalledMetrics.resume()
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

/// A metrics system that blocks when its first timer is created.
private struct StalledMetrics: MetricsFactory {
  private static let gate = DispatchSemaphore(value: 0)
  private let metrics: TestMetrics

  init(_ metrics: TestMetrics) { self.metrics = metrics }

  static func resume() { gate.signal() }

  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    Self.gate.wait()
    // Later timers do not block.
    Self.gate.signal()
    return metrics.makeTimer(label: label, dimensions: dimensions)
  }

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    metrics.makeCounter(label: label, dimensions: dimensions)
  }

  func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    metrics.makeRecorder(label: label, dimensions: dimensions, aggregate: aggregate)
  }

  func destroyTimer(_ handler: any TimerHandler) { metrics.destroyTimer(handler) }
  func destroyCounter(_ handler: any CounterHandler) { metrics.destroyCounter(handler) }
  func destroyRecorder(_ handler: any RecorderHandler) { metrics.destroyRecorder(handler) }
}
