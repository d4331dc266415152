import Foundation

extension DiskSubject {
  /// Throws unless every key has `value`, or with nil, unless every key is missing.
  func verify(_ keys: KeyList, have value: Data?, _ name: String) throws {
    for place in 0..<keys.count where try self.value(keys, at: place) != value {
      throw WorkloadError(
        "\(name) has \(value == nil ? "what was removed" : "another value") under \(keys.strings[place]).")
    }
  }

  /// Throws unless each key keeps its own value. Workloads set the same value under every key, so that only the store
  /// is timed; this check sets different ones, reads them, and removes them.
  func verifyIdentity(valueSize: Int, _ name: String) throws {
    let keys = KeyList((0..<32).map { "identity:\($0)" })
    var random = SplitMix(state: 15)
    let values = (0..<keys.count).map { _ in Data(random.bytes(valueSize)) }
    for place in 0..<keys.count { try set(keys.only(place), values[place]) }
    for place in 0..<keys.count { try verify(keys.only(place), have: values[place], name) }
    try remove(keys)
    try verify(keys, have: nil, name)
  }
}
