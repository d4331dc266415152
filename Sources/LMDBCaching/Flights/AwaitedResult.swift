import Dispatch
import Platform
import Synchronization

/// A result that threads wait for.
final class AwaitedResult<R: Sendable>: Sendable {
  private let result = Mutex<R?>(nil)
  private let group = DispatchGroup()

  init() { group.enter() }

  deinit { if result.withLock({ $0 == nil }) { group.leave() } }

  /// To be called once.
  func finish(_ result: R) {
    self.result.withLock { $0 = result }
    group.leave()
  }

  /// Returns the result, or `nil` if the limit is over before there is one.
  func wait(_ limit: Duration) -> R? {
    _ = group.wait(timeout: .now() + .nanoseconds(Int(clamping: limit.clampedNanoseconds)))
    return result.withLock { $0 }
  }
}
