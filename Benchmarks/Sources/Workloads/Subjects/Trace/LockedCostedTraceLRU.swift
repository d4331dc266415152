import Synchronization

final class LockedCostedTraceLRU: TraceSubject {
  static let name = LockedTraceLRU.name

  private struct State {
    var values = LRU<UInt32, UInt32>(capacity: .max)
    var cost = 0
  }

  private let costLimit: Int
  private let state = Mutex(State())

  init(costLimit: Int) { self.costLimit = costLimit }

  func contains(_ key: UInt32) -> Bool { state.withLock { $0.values.value(forKey: key) } == key }

  /// - Parameter key: Must be absent.
  func insert(_ key: UInt32) {
    state.withLock { state in
      state.values.set(key, forKey: key)
      state.cost += TraceCost.of(key)
      while state.cost > costLimit, let removed = state.values.removeOldest() {
        state.cost -= TraceCost.of(removed.key)
      }
    }
  }
}
