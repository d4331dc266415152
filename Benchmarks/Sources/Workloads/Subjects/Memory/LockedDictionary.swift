import Synchronization

/// A dictionary in a mutex, without a limit: a user's simplest solution.
final class LockedDictionary: MemorySubject {
  static let knowsLimits = false
  static let name = "Mutex<Dictionary>"
  private let values = Mutex<[String: Payload]>([:])

  init(capacity: Int?, _ setting: Setting) {}

  func number(forKey key: String) -> Int? { values.withLock { $0[key] }?.number }

  func set(_ value: Payload, forKey key: String) { values.withLock { $0[key] = value } }
}
