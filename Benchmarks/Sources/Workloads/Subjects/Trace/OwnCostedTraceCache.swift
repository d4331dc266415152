import LMDBCaching

/// The memory tier alone, limited by cost.
final class OwnCostedTraceCache: TraceSubject {
  static let name = OwnTraceCache.name
  private let values: MemoryCache<UInt32, UInt32>

  init(costLimit: Int) { values = MemoryCache(costLimit: costLimit) }

  func contains(_ key: UInt32) -> Bool { values.value(forKey: key) == key }
  func insert(_ key: UInt32) { values.set(key, forKey: key, cost: TraceCost.of(key)) }
}
