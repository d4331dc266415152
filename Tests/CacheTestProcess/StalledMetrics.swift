import Dispatch
import Metrics
import MetricsTestKit

/// A metrics system that blocks when its first timer is created.
struct StalledMetrics: MetricsFactory {
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
