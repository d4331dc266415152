import Synchronization

/// Why a `from…(_:forKey:)` returned nil. Its signature, which is every container's contract, has no room for that.
package enum LoadingErrors {
  @TaskLocal private static var collector: Collector?

  // Sendable: the error is behind a lock, though one thread alone uses it.
  private final class Collector: Sendable {
    let error = Mutex<(any Error)?>(nil)
  }

  /// Runs `body`, and returns what it returns and the last error that was noted meanwhile.
  package static func collecting<Value>(_ body: () -> Value?) -> (Value?, (any Error)?) {
    let collector = Collector()
    let value = $collector.withValue(collector, operation: body)
    return (value, collector.error.withLock { $0 })
  }

  /// Runs `body`; its error is noted, and makes the value nil.
  package static func noting<Value>(_ body: () throws -> Value?) -> Value? {
    do {
      return try body()
    } catch {
      collector?.error.withLock { $0 = error }
      return nil
    }
  }
}
