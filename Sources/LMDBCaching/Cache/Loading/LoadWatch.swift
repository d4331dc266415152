/// The running loads of a cache, which are notified of every write of their keys.
///
/// Callers hold the store's lock, so a load either sees a write, because it looks for a value after it has begun, or is
/// notified of it.
// Sendable: only used with the store's lock held.
final class LoadWatch: @unchecked Sendable {
  private var loads: [ByteKey: [Load]] = [:]
  private var isInvalidating = false
  private var isClosed = false

  func begin(_ load: Load) {
    if isClosed { return load.supersede() }
    loads[load.key, default: []].append(load)
  }

  /// Stops notifications; running loads no longer store their values.
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

  /// The next write, under the lock already held, only removes an entry that is older than a remote tier's.
  func expectInvalidation() { isInvalidating = !loads.isEmpty }

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

  func noteInvalidation(_ key: String, below revision: UInt64) {
    if loads.isEmpty { return }
    for load in loads[ByteKey(key)] ?? [] { load.invalidate(below: revision) }
  }

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
