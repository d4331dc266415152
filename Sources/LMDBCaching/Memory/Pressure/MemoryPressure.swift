import Synchronization

/// What a cache does when memory is short or the app leaves the foreground.
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

  /// Changes the state, and listens for the system's warnings while anything would come of one.
  func update(_ change: (inout State) -> Void) {
    state.withLock { state in
      change(&state)
      if state.removesAllOnWarning || state.didReceiveWarning != nil {
        if state.subscription == nil {
          state.subscription = MemoryPressureMonitor.shared.subscribe { [weak self] in self?.warn() }
        }
      } else {
        state.subscription = nil
      }
    }
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
