import Platform
import Synchronization

/// The keys whose loads failed, and until when they are not loaded anew if there is something to serve.
final class LoadPauses: Sendable {
  private struct Pause {
    var failures = 0
    /// On the monotonic clock.
    var end: Int64 = 0
  }

  /// With more keys all are forgotten: their sources are asked once more.
  private static let maximumCount = 10_000

  private let pauses = Mutex<[ByteKey: Pause]>([:])

  func isPausing(_ key: ByteKey, now: Int64) -> Bool { pauses.withLock { ($0[key]?.end ?? .min) > now } }

  /// Begins a pause, unless one is on: it is a failure of the same time.
  ///
  /// - Returns: Whether it began.
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
