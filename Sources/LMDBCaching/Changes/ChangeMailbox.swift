import Synchronization

final class ChangeMailbox: Sendable {
  /// Work for after the lock.
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

  init(limit: Int) { state = Mutex(State(queue: ChangeQueue(limit: limit))) }

  /// Delivers a change to the waiting task, or queues it.
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

  /// Pending changes can still be taken.
  func end() {
    let waiters = state.withLock { state in
      state.isEnded = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume(returning: nil) }
  }

  func take() -> CacheChange? { state.withLock { $0.queue.popFirst() } }

  /// The next change, or `nil` at the end. A cancelled task gets `nil`, and ends the mailbox.
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
