import Foundation

/// Serializes setting in the whole process. With a lock for each store, two hooks that set a value in each other's
/// store could deadlock.
enum SettingLock {
  private static let lock = NSRecursiveLock()

  static func withLock<R>(_ body: () throws -> R) rethrows -> R {
    lock.lock()
    defer { lock.unlock() }
    return try body()
  }
}
