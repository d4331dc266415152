import LMDBCaching

/// The memory tier alone.
final class OwnTraceCache: TraceSubject {
  static let name = "LMDBCaching.MemoryCache"
  private let values: MemoryCache<UInt32, UInt32>

  init(capacity: Int) { values = MemoryCache(countLimit: capacity) }

  func contains(_ key: UInt32) -> Bool { values.value(forKey: key) == key }
  func insert(_ key: UInt32) { values.set(key, forKey: key) }
}
