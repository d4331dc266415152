import Synchronization

final class LockedLRU: MemorySubject {
  static let name = "Mutex<LRU>"
  private let values: Mutex<LRU<String, Payload>>

  init(capacity: Int?, _ setting: Setting) { values = Mutex(LRU(capacity: capacity ?? 1 << 24)) }

  func number(forKey key: String) -> Int? { values.withLock { $0.value(forKey: key) }?.number }

  func set(_ value: Payload, forKey key: String) { values.withLock { $0.set(value, forKey: key) } }
}
