import Synchronization

/// Thread-safe properties in memory.
final class LockedProperties: Sendable {
  static let text = "a string that is longer than fifteen bytes"

  let number = Mutex(1)
  let text = Mutex(LockedProperties.text)
}
