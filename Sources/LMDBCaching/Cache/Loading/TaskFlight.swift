import Synchronization

/// A load that tasks wait for.
final class TaskFlight: Sendable {
  struct Waiter: Hashable {
    fileprivate let number: Int

    /// The caller that made the flight.
    static let leader = Waiter(number: 0)
  }

  private typealias Continuation = CheckedContinuation<SingleFlight.Outcome?, Never>

  private enum Wait {
    /// It is not known yet by which continuation.
    case announced
    case suspended(Continuation)
    /// It was left before it began.
    case left(SingleFlight.Outcome?)
  }

  private struct State {
    var waits: [Waiter: Wait] = [.leader: .announced]
    var lastNumber = 0
    var task: Task<Void, Never>?
    var isAbandoned = false
    var outcome: SingleFlight.Outcome?
  }

  let load: Load
  private let state = Mutex(State())

  init(_ load: Load) { self.load = load }

  /// Starts the load's task. The leader does so, once.
  func begin(_ body: @escaping @Sendable () async -> Void) {
    let task = Task(operation: body)
    let isAbandoned = state.withLock { state in
      state.task = task
      return state.isAbandoned
    }
    if isAbandoned { task.cancel() }
  }

  /// Announces one more wait. Returns `nil` if the flight is abandoned.
  func join() -> Waiter? {
    state.withLock { state in
      if state.isAbandoned { return nil }
      state.lastNumber += 1
      let waiter = Waiter(number: state.lastNumber)
      state.waits[waiter] = .announced
      return waiter
    }
  }

  /// Resumes the continuation with the outcome, or with what the waiter leaves with.
  func wait(as waiter: Waiter, _ continuation: CheckedContinuation<SingleFlight.Outcome?, Never>) {
    let resumption = state.withLock { state -> SingleFlight.Outcome?? in
      if case .left(let outcome)? = state.waits[waiter] {
        state.waits[waiter] = nil
        return .some(outcome)
      }
      if let outcome = state.outcome {
        state.waits[waiter] = nil
        return .some(outcome)
      }
      state.waits[waiter] = .suspended(continuation)
      return nil
    }
    if let resumption { continuation.resume(returning: resumption) }
  }

  /// Ends one wait. Returns whether it was the last one: then the load is cancelled.
  func leave(_ waiter: Waiter, with outcome: SingleFlight.Outcome?) -> Bool {
    var continuation: Continuation?
    let (isAbandoned, task) = state.withLock { state -> (Bool, Task<Void, Never>?) in
      switch state.waits[waiter] {
      case .announced: state.waits[waiter] = .left(outcome)
      case .suspended(let waiting):
        state.waits[waiter] = nil
        continuation = waiting
      case .left, nil: return (false, nil)
      }
      let isWaitedFor = state.waits.values.contains { if case .left = $0 { false } else { true } }
      if state.outcome != nil || isWaitedFor { return (false, nil) }
      state.isAbandoned = true
      load.supersede()
      return (true, state.task)
    }
    task?.cancel()
    continuation?.resume(returning: outcome)
    return isAbandoned
  }

  func finish(_ outcome: SingleFlight.Outcome) {
    let waiting = state.withLock { state -> [Continuation] in
      state.outcome = outcome
      var waiting: [Continuation] = []
      for (waiter, wait) in state.waits {
        guard case .suspended(let continuation) = wait else { continue }
        waiting.append(continuation)
        state.waits[waiter] = nil
      }
      return waiting
    }
    for continuation in waiting { continuation.resume(returning: outcome) }
  }
}
