import Synchronization

/// A repeating action that ends when the timer is cancelled or released.
package final class CacheTimer: Sendable {
  private let stop: Mutex<(@Sendable () -> Void)?>

  init(stop: @escaping @Sendable () -> Void) {
    self.stop = Mutex(stop)
  }

  deinit { cancel() }

  /// Ends the timer, without waiting for a running call.
  package func cancel() {
    let stop = stop.withLock { stop in
      defer { stop = nil }
      return stop
    }
    stop?()
  }
}
