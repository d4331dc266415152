import Synchronization

/// Carries the reason of a `nil` from `from…(_:forKey:)`, whose signature is every container's contract.
package enum LoadingErrors {
  @TaskLocal private static var collector: Collector?

  package enum Reason {
    case unknown
    /// The key was free at the look. Another look could find a later content.
    case absent
    case error(any Error)
  }

  // Sendable: the reason is behind a lock, though only one thread uses it.
  private final class Collector: Sendable {
    let key: KeyBytes
    let reason = Mutex(Reason.unknown)

    init(_ key: String) { self.key = KeyBytes(key) }
  }

  /// Runs `body`, which reads `key`, and returns its result and the last noted reason.
  package static func collecting<Value>(forKey key: String, _ body: () -> Value?) -> (Value?, Reason) {
    let collector = Collector(key)
    let value = $collector.withValue(collector, operation: body)
    return (value, collector.reason.withLock { $0 })
  }

  /// Notes that `body` returned `nil` for a free key, or its error, which makes the value `nil`.
  package static func noting<Value>(forKey key: String, _ body: () throws -> Value?) -> Value? {
    do {
      let value = try body()
      if value == nil, let collector, collector.key == KeyBytes(key) { collector.reason.withLock { $0 = .absent } }
      return value
    } catch {
      collector?.reason.withLock { $0 = .error(error) }
      return nil
    }
  }

  /// Reads `key` with a function that gives no reasons: its `nil` means "unreadable" if the key is taken throughout.
  /// `unreadable` makes that error.
  package static func load<Value>(
    forKey key: String, isPresent: () throws -> Bool, read: () -> Value?, unreadable: () throws -> any Error
  ) throws -> Value? {
    // Others may remove and store in between, so an error needs several attempts.
    for _ in 0..<8 {
      let (value, reason) = collecting(forKey: key, read)
      if let value { return value }
      switch reason {
      case .error(let error): throw error
      case .absent: return nil
      case .unknown: if try !isPresent() { return nil }
      }
    }
    throw try unreadable()
  }
}
