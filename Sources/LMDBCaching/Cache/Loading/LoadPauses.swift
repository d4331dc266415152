import Platform
import Synchronization

/// The keys whose loads failed, and until when an older value is served without another load.
final class LoadPauses: Sendable {
  private struct Pause {
    var failures = 0
    /// Monotonic.
    var end: Int64 = 0
  }

  /// Beyond this all are forgotten, and loaded once more.
  private static let maximumCount = 10_000

  private let pauses = Mutex<[ByteKey: Pause]>([:])

  func isPausing(_ key: ByteKey, now: Int64) -> Bool { pauses.withLock { ($0[key]?.end ?? .min) > now } }

  /// Begins a pause and returns `true`, unless one is running.
  @discardableResult
  func noteFailure(_ key: ByteKey, _ options: LoadOptions, now: Int64) -> Bool {
    pauses.withLock { pauses in
      if pauses.count >= Self.maximumCount { pauses = [:] }
      var pause = pauses[key] ?? Pause()
      if pause.end > now { return false }
      let factor = Int64(1) << min(pause.failures, 32)
      let (length, overflow) = options.pauseAfterFailure.clampedNanoseconds.multipliedReportingOverflow(by: factor)
      let longest = options.longestPause.clampedNanoseconds
      pause.failures += 1
      pause.end = now.addingClamped(overflow ? longest : min(length, longest))
      pauses[key] = pause
      return true
    }
  }

  func noteSuccess(_ key: ByteKey) { pauses.withLock { if !$0.isEmpty { $0[key] = nil } } }
}
