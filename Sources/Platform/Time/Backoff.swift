/// A bounded wait for something that another thread or process is about to finish: yields first, then sleeps ever
/// longer, up to a millisecond.
///
/// For slow paths only. Polling keeps the fast paths, which would have to signal a condition, free of any such cost;
/// and no condition tells of other processes' locks.
package struct Backoff: Sendable {
  private static let longest: Int64 = 1_000_000

  private let waiting: Waiting
  /// `nil`: the wait has no end.
  private let deadline: Int64?
  private var round = 0

  /// - Parameter limit: How long ``pause()`` goes on, in nanoseconds; `nil` for as long as it takes.
  package init(limit: Int64?, _ waiting: Waiting = .system) {
    self.waiting = waiting
    deadline = limit.map { limit in
      let (sum, overflow) = waiting.now().addingReportingOverflow(max(0, limit))
      return overflow ? .max : sum
    }
  }

  /// Waits a little. Returns whether there was time left.
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
