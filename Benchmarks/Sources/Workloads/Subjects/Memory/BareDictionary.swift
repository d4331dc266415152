/// A dictionary, for one thread only.
struct BareDictionary: MemorySubject {
  static let knowsLimits = false
  static let name = "Dictionary"
  private var values: [String: Payload] = [:]

  init(capacity: Int?, _ setting: Setting) {}

  func number(forKey key: String) -> Int? { values[key]?.number }

  mutating func set(_ value: Payload, forKey key: String) { values[key] = value }
}
