import Synchronization

/// LRU in a mutex, as thread-safe as the memory tier.
final class LockedTraceLRU: TraceSubject {
  static let name = "Mutex<LRU>"
  private let values: Mutex<LRU<UInt32, UInt32>>

  init(capacity: Int) { values = Mutex(LRU(capacity: capacity)) }

  func contains(_ key: UInt32) -> Bool { values.withLock { $0.value(forKey: key) } == key }
  func insert(_ key: UInt32) { values.withLock { $0.set(key, forKey: key) } }
}
