/// The loads under way in a cache, which are told of every write of their keys.
///
/// Whoever calls it holds the store's lock: so a write is either seen by the load, which looks for a value after it has
/// begun, or the load is told of it.
// Sendable: it is touched with the store's lock held only.
final class LoadWatch: @unchecked Sendable {
  private var loads: [ByteKey: [Load]] = [:]
  private var isInvalidating = false
  private var isClosed = false

  func begin(_ load: Load) {
    if isClosed { return load.supersede() }
    loads[load.key, default: []].append(load)
  }

  /// From now on nothing is told here, and no load stores its value.
  func close() {
    isClosed = true
    noteRemoval(.everything)
  }

  func end(_ load: Load) {
    guard var others = loads.removeValue(forKey: load.key) else { return }
    others.removeAll { $0 === load }
    if !others.isEmpty { loads[load.key] = others }
  }

  @inline(__always)
  func noteWrite(_ key: String) { if !loads.isEmpty { supersede(ByteKey(key)) } }

  /// The next write, for which the lock is held already, is no write: it removes what a remote tier has something newer for.
  func expectInvalidation() { isInvalidating = !loads.isEmpty }

  /// Notes a removal of many keys.
  func noteRemoval(_ scope: HiddenKeys.Scope) {
    for (key, loads) in loads {
      for load in loads {
        if case .tag(let hash) = scope {
          load.noteRemoval(ofTag: hash)
        } else if scope.includes(key.string) {
          load.supersede()
        }
      }
    }
  }

  /// Notes a change of a remote tier.
  func noteInvalidation(_ key: String, below revision: UInt64) {
    if loads.isEmpty { return }
    for load in loads[ByteKey(key)] ?? [] { load.invalidate(below: revision) }
  }

  /// Notes a removal of many keys in a remote tier.
  func noteInvalidation(ofAll prefix: String, below revision: UInt64) {
    for (key, loads) in loads where key.string.utf8.starts(with: prefix.utf8) {
      for load in loads { load.invalidate(below: revision) }
    }
  }

  @inline(never)
  private func supersede(_ key: ByteKey) {
    if isInvalidating {
      isInvalidating = false
      return
    }
    for load in loads[key] ?? [] { load.supersede() }
  }
}
