import Synchronization

/// A load that threads and tasks wait for.
///
/// The thread that leads it runs it, or another thread or a task of its own. A closure tells a waiter of the outcome:
/// it wakes a thread and resumes a task.
final class Flight: Sendable {
  struct Waiter: Hashable {
    fileprivate let number: Int

    /// The caller that made the flight. A thread waits as long as it runs the load.
    static let leader = Waiter(number: 0)
  }

  /// Called with the outcome, or with what the waiter leaves with.
  typealias Resumption = @Sendable (SingleFlight.Outcome?) -> Void

  private enum Wait {
    /// Joined, without a resumption so far.
    case announced
    case begun(Resumption)
    /// Left before it began.
    case left(SingleFlight.Outcome?)
  }

  private struct State {
    var waits: [Waiter: Wait] = [.leader: .announced]
    var lastNumber = 0
    var task: Task<Void, Never>?
    /// Whether the load goes on without waiters: the time of one is over.
    var isKept = false
    var isAbandoned = false
    var outcome: SingleFlight.Outcome?
  }

  let load: Load
  /// Whether the load runs in a task: it may need the very thread that waits for it then.
  let isOfTask: Bool
  /// How many flights of the key hang that this one takes the place of.
  let generation: Int
  private let state = Mutex(State())

  init(_ load: Load, isOfTask: Bool, replacing hanging: Flight?) {
    self.load = load
    self.isOfTask = isOfTask
    generation = hanging.map { $0.generation + 1 } ?? 0
  }

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

  /// How many wait, its leader included. For tests.
  var waiterCount: Int {
    state.withLock { $0.waits.values.count { if case .left = $0 { false } else { true } } }
  }

  /// Has `resumption` called, once: with the outcome, or with what the waiter leaves with.
  func wait(as waiter: Waiter, _ resumption: @escaping Resumption) {
    let result = state.withLock { state -> SingleFlight.Outcome?? in
      if case .left(let outcome)? = state.waits[waiter] {
        state.waits[waiter] = nil
        return .some(outcome)
      }
      if let outcome = state.outcome {
        state.waits[waiter] = nil
        return .some(outcome)
      }
      state.waits[waiter] = .begun(resumption)
      return nil
    }
    if let result { resumption(result) }
  }

  /// Ends one wait.
  ///
  /// - Parameter keepsLoad: Whether the load goes on, whoever waits for it.
  /// - Returns: Whether it was the last one: then the load is cancelled.
  func leave(_ waiter: Waiter, with outcome: SingleFlight.Outcome?, keepsLoad: Bool) -> Bool {
    var resumption: Resumption?
    let (isAbandoned, task) = state.withLock { state -> (Bool, Task<Void, Never>?) in
      switch state.waits[waiter] {
      case .announced: state.waits[waiter] = .left(outcome)
      case .begun(let begun):
        state.waits[waiter] = nil
        resumption = begun
      case .left, nil: return (false, nil)
      }
      if keepsLoad { state.isKept = true }
      let isWaitedFor = state.waits.values.contains { if case .left = $0 { false } else { true } }
      if state.outcome != nil || state.isKept || isWaitedFor { return (false, nil) }
      state.isAbandoned = true
      load.supersede()
      return (true, state.task)
    }
    task?.cancel()
    resumption?(outcome)
    return isAbandoned
  }

  func finish(_ outcome: SingleFlight.Outcome) {
    let waiting = state.withLock { state -> [Resumption] in
      state.outcome = outcome
      var waiting: [Resumption] = []
      for (waiter, wait) in state.waits {
        guard case .begun(let resumption) = wait else { continue }
        waiting.append(resumption)
        state.waits[waiter] = nil
      }
      return waiting
    }
    for resumption in waiting { resumption(outcome) }
  }
}
