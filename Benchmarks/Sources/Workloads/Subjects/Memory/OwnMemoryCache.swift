import LMDBCaching

/// The memory tier alone.
struct OwnMemoryCache: MemorySubject {
  static let name = "LMDBCaching.MemoryCache"
  private let values: MemoryCache<String, Payload>

  init(capacity: Int?, _ setting: Setting) { values = Self.makeCache(capacity: capacity) }

  static func makeCache(capacity: Int?) -> MemoryCache<String, Payload> { MemoryCache(countLimit: capacity ?? .max) }

  func number(forKey key: String) -> Int? { values.value(forKey: key)?.number }

  func sum(forKeys keys: [String]) -> Int {
    var sum = 0
    for value in values.values(forKeys: keys) { sum &+= value?.number ?? .min }
    return sum
  }

  func set(_ value: Payload, forKey key: String) { values.set(value, forKey: key) }
}
