/// A bounded wait for another thread or process that is about to finish: yields first, then sleeps ever longer, up to a
/// millisecond.
///
/// For slow paths only. Polling spares fast paths the cost of signaling, and no condition covers other processes'
/// locks.
package struct Backoff: Sendable {
  private static let longest: Int64 = 1_000_000

  private let waiting: Waiting
  /// `nil` for no limit.
  private let deadline: Int64?
  private var round = 0

  /// - Parameter limit: Nanoseconds until ``pause()`` returns `false`; `nil` for no limit.
  package init(limit: Int64?, _ waiting: Waiting = .system) {
    self.waiting = waiting
    deadline = limit.map { limit in
      let (sum, overflow) = waiting.now().addingReportingOverflow(max(0, limit))
      return overflow ? .max : sum
    }
  }

  /// Waits a little. Returns whether time is left.
  package mutating func pause() -> Bool {
    var rest = Int64.max
    if let deadline {
      rest = deadline - waiting.now()
      if rest <= 0 { return false }
    }
    if round < 32 {
      waiting.yield()
    } else {
      waiting.sleep(min(Self.longest, 20_000 << Int64(min(round - 32, 6)), rest))
    }
    round += 1
    return true
  }
}
