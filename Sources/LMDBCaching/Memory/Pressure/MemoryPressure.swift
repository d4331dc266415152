import Synchronization

/// The reactions of a cache to memory pressure and to entering the background.
final class MemoryPressure: Sendable {
  typealias Handler = @Sendable () -> Void

  struct State: Sendable {
    var removesAllOnWarning = true
    var removesAllInBackground = true
    var didReceiveWarning: Handler?
    var didEnterBackground: Handler?
    var subscription: MemoryPressureMonitor.Subscription?
  }

  let state = Mutex(State())
  private let removeAll: Handler

  init(removesAllOnWarning: Bool, inBackground removesAllInBackground: Bool, removeAll: @escaping Handler) {
    self.removeAll = removeAll
    update {
      $0.removesAllOnWarning = removesAllOnWarning
      $0.removesAllInBackground = removesAllInBackground
    }
  }

  /// Changes the state, and subscribes to warnings while they have an effect.
  func update(_ change: (inout State) -> Void) {
    // Released after the lock: it may be the last reference to an owner whose `deinit` comes here.
    let old = state.withLock { state in
      let old = state
      change(&state)
      if state.removesAllOnWarning || state.didReceiveWarning != nil {
        if state.subscription == nil {
          state.subscription = MemoryPressureMonitor.shared.subscribe { [weak self] in self?.warn() }
        }
      } else {
        state.subscription = nil
      }
      return old
    }
    withExtendedLifetime(old) {}
  }

  func warn() {
    let (handler, removes) = state.withLock { ($0.didReceiveWarning, $0.removesAllOnWarning) }
    handler?()
    if removes { removeAll() }
  }

  func enterBackground() {
    let (handler, removes) = state.withLock { ($0.didEnterBackground, $0.removesAllInBackground) }
    handler?()
    if removes { removeAll() }
  }
}
