import Foundation

/// Makes setting one thing after the other, in the whole process.
///
/// A lock for each store would let two hooks that set a value in each other's store wait for each other for ever.
enum SettingLock {
  private static let lock = NSRecursiveLock()

  static func withLock<R>(_ body: () throws -> R) rethrows -> R {
    lock.lock()
    defer { lock.unlock() }
    return try body()
  }
}
