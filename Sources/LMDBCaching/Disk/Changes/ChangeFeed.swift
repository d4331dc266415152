import Synchronization

/// The observers of one store's changes.
final class ChangeFeed: Sendable {
  /// How often somebody looks whether another process has committed, while there is an observer.
  static let interval = Duration.milliseconds(50)

  /// Whether there is anybody to tell.
  let isObserved = Atomic<Bool>(false)
  let isFollowQueued = Atomic<Bool>(false)
  /// The transaction that every observer was brought up to, or 0 if not all were.
  let followedTransaction = Atomic<UInt64>(0)
  /// On the monotonic clock, the time before which nobody follows again.
  let nextFollow = Atomic<Int64>(.min)
  /// How often this process removed entries without telling whose: by a tag, or when nobody seemed to listen. It grows
  /// when reads find them gone already. So whoever notes it, and then reads what is to go, will find another number.
  private let removals = Atomic<UInt64>(0)

  private struct State {
    var watches: [ChangeWatch] = []
    var timer: CacheTimer?
  }

  private let state = Mutex(State())

  /// - Parameter startTimer: Makes what looks after other processes, if nothing does yet.
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

  /// To be called when a read by anybody finds the entries gone.
  func noteUntoldRemoval() { removals.wrappingAdd(1, ordering: .releasing) }

  /// Makes the database be read again: this process's own commit may have removed what others wrote after a removal.
  func followAgain() { followedTransaction.store(0, ordering: .releasing) }

  /// Nobody can know what of the files that were open observers have seen.
  func tellMissed() {
    followAgain()
    deliver { $0.compactMap { $0.mailbox.push(.missed) } }
  }

  /// Calls `body` with the observers, one thread at a time, and then wakes up who waits for what it returns.
  func deliver(_ body: ([ChangeWatch]) -> [ChangeMailbox.Delivery]) {
    let deliveries = state.withLock { body($0.watches) }
    for delivery in deliveries { delivery() }
  }
}
