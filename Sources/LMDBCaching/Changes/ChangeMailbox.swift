import Synchronization

/// Where the changes for one observer wait, and where the observer waits for them.
final class ChangeMailbox: Sendable {
  /// What is to be done when no lock is held any more.
  struct Delivery {
    fileprivate let continuation: CheckedContinuation<CacheChange?, Never>
    fileprivate let change: CacheChange?

    func callAsFunction() { continuation.resume(returning: change) }
  }

  private struct State {
    var queue: ChangeQueue
    var waiters: [CheckedContinuation<CacheChange?, Never>] = []
    var isEnded = false
  }

  private let state: Mutex<State>

  /// - Parameter limit: How many changes wait at most; 1 or more.
  init(limit: Int) { state = Mutex(State(queue: ChangeQueue(limit: limit))) }

  /// Hands a change to who waits for one, or keeps it.
  func push(_ change: CacheChange) -> Delivery? {
    state.withLock { state in
      if state.isEnded { return nil }
      if state.waiters.isEmpty {
        state.queue.append(change)
        return nil
      }
      return Delivery(continuation: state.waiters.removeFirst(), change: change)
    }
  }

  /// What waits can still be taken.
  func end() {
    let waiters = state.withLock { state in
      state.isEnded = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume(returning: nil) }
  }

  /// A change that waits, or `nil` if there is none now.
  func take() -> CacheChange? { state.withLock { $0.queue.popFirst() } }

  /// The next change, or `nil` if there will be none. A cancelled task gets nil, and ends the mailbox.
  func next() async -> CacheChange? {
    if Task.isCancelled {
      end()
      return nil
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer: CacheChange?? = state.withLock { state in
          if let change = state.queue.popFirst() { return .some(change) }
          if state.isEnded { return .some(nil) }
          state.waiters.append(continuation)
          return nil
        }
        if let answer { continuation.resume(returning: answer) }
      }
    } onCancel: {
      end()
    }
  }
}
