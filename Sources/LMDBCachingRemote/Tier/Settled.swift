import Dispatch
import Synchronization

/// A result that another thread has, sooner or later.
final class Settled<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  private let done = DispatchSemaphore(value: 0)

  /// To be called once.
  func settle(_ value: Value) {
    self.value.withLock { $0 = value }
    done.signal()
  }

  /// To be called once. Blocks the thread.
  func wait() -> Value {
    done.wait()
    guard let value = value.withLock({ $0 }) else { preconditionFailure("It was settled without a value.") }
    return value
  }
}
