/// A bounded wait for something that another thread is about to finish: yields first, then sleeps ever longer.
///
/// Used on slow paths only. Polling instead of a condition variable keeps the fast paths, which would have to signal
/// it, free of any such cost.
struct Backoff {
  private let deadline: UInt64
  private var round = 0

  /// - Parameter limit: How long ``pause()`` goes on, in nanoseconds.
  init(limit: UInt64) {
    deadline = Platform.monotonicNanoseconds &+ limit
  }

  /// Waits a little. Returns whether there was time left.
  mutating func pause() -> Bool {
    guard Platform.monotonicNanoseconds < deadline else { return false }
    if round < 32 {
      Platform.yield()
    } else {
      Platform.sleep(nanoseconds: min(1_000_000, 20_000 << min(round - 32, 6)))
    }
    round += 1
    return true
  }
}
