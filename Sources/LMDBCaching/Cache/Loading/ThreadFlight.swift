import Dispatch
import Synchronization

/// A load that threads wait for.
final class ThreadFlight: Sendable {
  let load: Load
  private let outcome = Mutex<SingleFlight.Outcome?>(nil)
  private let group = DispatchGroup()

  init(_ load: Load) {
    self.load = load
    group.enter()
  }

  deinit { if outcome.withLock({ $0 == nil }) { group.leave() } }

  func finish(_ outcome: SingleFlight.Outcome) {
    self.outcome.withLock { $0 = outcome }
    group.leave()
  }

  /// Returns the outcome, or `nil` if the limit is over before there is one.
  func wait(_ limit: Duration) -> SingleFlight.Outcome? {
    _ = group.wait(timeout: .now() + .nanoseconds(Int(clamping: limit.clampedNanoseconds)))
    return outcome.withLock { $0 }
  }
}
