import Synchronization

final class ChangeFeed: Sendable {
  /// How often to check for other processes' commits, while there is an observer.
  static let interval = Duration.milliseconds(50)

  let isObserved = Atomic<Bool>(false)
  let isFollowQueued = Atomic<Bool>(false)
  /// The transaction up to which every observer has been updated, or 0.
  let followedTransaction = Atomic<UInt64>(0)
  /// The monotonic time of the next permitted update.
  let nextFollow = Atomic<Int64>(.min)
  /// Counts this process's removals that were not reported: by tag, or while nothing observed. It grows once reads find
  /// the entries gone, so a caller that notes it before it reads such entries will see it change.
  private let removals = Atomic<UInt64>(0)

  private struct State {
    var watches: [ChangeWatch] = []
    var timer: CacheTimer?
  }

  private let state = Mutex(State())

  /// - Parameter startTimer: Starts the checks for other processes' commits.
  func add(_ watch: ChangeWatch, startTimer: () -> CacheTimer) {
    state.withLock { state in
      state.watches.append(watch)
      if state.timer == nil { state.timer = startTimer() }
      followedTransaction.store(0, ordering: .releasing)
      nextFollow.store(.min, ordering: .relaxed)
      isObserved.store(true, ordering: .sequentiallyConsistent)
    }
  }

  func remove(_ watch: ChangeWatch) {
    let timer = state.withLock { state -> CacheTimer? in
      state.watches.removeAll { $0 === watch }
      guard state.watches.isEmpty else { return nil }
      isObserved.store(false, ordering: .sequentiallyConsistent)
      return state.timer.take()
    }
    timer?.cancel()
  }

  var watches: [ChangeWatch] { state.withLock { $0.watches } }

  var untoldRemovals: UInt64 { removals.load(ordering: .acquiring) }

  /// Call when every read finds the entries gone.
  func noteUntoldRemoval() { removals.wrappingAdd(1, ordering: .releasing) }

  /// Rescans the database: this process's commit may have removed other processes' later writes.
  func followAgain() { followedTransaction.store(0, ordering: .releasing) }

  /// Reports missed changes, because the observers' knowledge of the replaced files is unknown.
  func tellMissed() {
    followAgain()
    deliver { $0.compactMap { $0.mailbox.push(.missed) } }
  }

  /// Calls `body` with the observers, serialized, then wakes the receivers of the returned deliveries.
  func deliver(_ body: ([ChangeWatch]) -> [ChangeMailbox.Delivery]) {
    let deliveries = state.withLock { body($0.watches) }
    for delivery in deliveries { delivery() }
  }
}
