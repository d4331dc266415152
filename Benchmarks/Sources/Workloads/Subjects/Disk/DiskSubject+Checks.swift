import Foundation

extension DiskSubject {
  /// Throws unless every key has `value`; nil: unless none is there.
  func verify(_ keys: KeyList, have value: Data?, _ name: String) throws {
    for place in 0..<keys.count where try self.value(keys, at: place) != value {
      throw WorkloadError(
        "\(name) has \(value == nil ? "what was removed" : "another value") under \(keys.strings[place]).")
    }
  }

  /// Throws unless each key has its own value: sets values that differ, reads them, and removes them again. What a
  /// workload sets is the same under every key, so that nothing but the store is timed.
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
