/// The loads under way in a cache, which are told of every write of their keys.
///
/// Whoever calls it holds the store's lock: so a write is either seen by the load, which looks for a value after it has
/// begun, or the load is told of it.
// Sendable: it is touched with the store's lock held only.
final class LoadWatch: @unchecked Sendable {
  private var loads: [ByteKey: [Load]] = [:]

  func begin(_ load: Load) { loads[load.key, default: []].append(load) }

  func end(_ load: Load) {
    guard var others = loads.removeValue(forKey: load.key) else { return }
    others.removeAll { $0 === load }
    if !others.isEmpty { loads[load.key] = others }
  }

  @inline(__always)
  func noteWrite(_ key: String) { if !loads.isEmpty { supersede(ByteKey(key)) } }

  /// Notes a removal of many keys.
  func noteWriteOfAll() {
    for loads in loads.values { for load in loads { load.supersede() } }
  }

  @inline(never)
  private func supersede(_ key: ByteKey) {
    for load in loads[key] ?? [] { load.supersede() }
  }
}
