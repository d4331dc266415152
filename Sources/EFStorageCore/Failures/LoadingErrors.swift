import Synchronization

/// Why a `from…(_:forKey:)` returned `nil`. Its signature, which is every container's contract, has no room for that.
package enum LoadingErrors {
  @TaskLocal private static var collector: Collector?

  /// What a `from…(_:forKey:)` said beside its value.
  package enum Reason {
    /// Nothing.
    case unknown
    /// There was nothing under the key when it looked. Another look could find what was stored since.
    case absent
    case error(any Error)
  }

  // Sendable: the reason is behind a lock, though one thread alone uses it.
  private final class Collector: Sendable {
    let key: KeyBytes
    let reason = Mutex(Reason.unknown)

    init(_ key: String) { self.key = KeyBytes(key) }
  }

  /// Runs `body`, which reads what is under `key`, and returns what it returns and the last reason that was noted.
  package static func collecting<Value>(forKey key: String, _ body: () -> Value?) -> (Value?, Reason) {
    let collector = Collector(key)
    let value = $collector.withValue(collector, operation: body)
    return (value, collector.reason.withLock { $0 })
  }

  /// Runs `body`, which returns `nil` if nothing is under `key`. Notes that, or the error that it throws, which makes the
  /// value `nil`.
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

  /// Reads what is under `key` by a function that tells no reason, so that its `nil` means "unreadable" if something is
  /// there all the time.
  ///
  /// - Parameters:
  ///   - isPresent: Whether anything is under the key.
  ///   - read: Returns the value, or `nil`.
  ///   - unreadable: Makes the error for what is there and cannot be read.
  package static func load<Value>(
    forKey key: String, isPresent: () throws -> Bool, read: () -> Value?, unreadable: () throws -> any Error
  ) throws -> Value? {
    // Others may remove and store between the looks. An error is a claim, so it takes more than one.
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
