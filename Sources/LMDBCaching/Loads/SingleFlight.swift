import Dispatch
import Platform
import Synchronization

/// Makes concurrent loads of one key a single one: the first caller leads, the others join and get its outcome. Threads
/// and tasks fly together, through every cache of the process on the directory.
///
/// A thread without a time limit runs the load that it leads; with one, another thread does. A task's load runs in a
/// task of its own. Waiting tasks hold no thread.
///
/// **Waits end.** A load that asks for its own key is an error. A load may still need its waiter in a way that is not
/// visible, through other loads or another thread. So the wait for another caller's load has a limit; after it *one*
/// waiter leads a load in its place, which the others join, and for which they wait twice as long. A caller with a time
/// limit gives up at that limit instead, unless it is inside a load, which may be part of a circle.
final class SingleFlight: Sendable {
  typealias Outcome = Result<any Sendable, any Error>

  /// How long a caller waits.
  struct Patience: Sendable {
    /// For the value; `nil`: as long as it takes.
    let timeLimit: Duration?
    /// For another caller's load.
    let waitLimit: Duration
    private let end: Int64

    init(timeLimit: Duration?, waitLimit: Duration) {
      self.timeLimit = timeLimit
      self.waitLimit = waitLimit
      end = timeLimit.map { MonotonicClock.nanoseconds.addingClamped($0.clampedNanoseconds) } ?? .max
    }

    var isOver: Bool { timeLimit != nil && MonotonicClock.nanoseconds >= end }

    /// - Returns: `nil` without a limit.
    fileprivate func limit(for flight: Flight, _ waiter: Flight.Waiter, _ caller: LoadCaller) -> Duration? {
      let left = timeLimit.map { _ in Duration.nanoseconds(max(0, end - MonotonicClock.nanoseconds)) }
      if waiter == .leader || left != nil && caller.load == nil { return left }
      let limit = waitLimit * (1 << min(flight.generation, 16))
      return min(left ?? limit, limit)
    }
  }

  /// Of tasks: a thread that waits keeps its own time. A queue of its own, since loads may block the threads of others.
  private static let timers = DispatchQueue(label: "LMDB load limits")

  private let flights = Mutex<[ByteKey: Flight]>([:])

  /// Returns the result of `load`, or the outcome of a load of the key that is under way.
  ///
  /// A task's load without a time limit is cancelled when nothing waits for it any more.
  func value(
    _ key: ByteKey, _ caller: LoadCaller, _ patience: Patience,
    _ load: @escaping @Sendable (Load) async throws -> any Sendable
  ) async throws -> any Sendable {
    var hanging: Flight?
    while true {
      try Task.checkCancellation()
      let (flight, waiter) = try join(key, caller, patience, replacing: hanging)
      if waiter == .leader {
        let run: @Sendable () async -> Outcome = { [self] in
          let outcome: Outcome
          do { outcome = .success(try await flight.load.run { try await load(flight.load) }) } catch {
            outcome = .failure(error)
          }
          retire(flight)
          flight.finish(outcome)
          return outcome
        }
        if caller.executor != nil, patience.timeLimit == nil { return try await run().get() }
        flight.begin(on: caller.executor.map { _ in .ofNewThread() }, run)
      } else if flight.isOfTask, caller.blocksPool {
        // The task may need this very thread.
        leave(flight, waiter, with: nil, keepsLoad: false)
        hanging = flight
        continue
      }
      if let outcome = await wait(for: flight, waiter, caller, patience) { return try outcome.get() }
      if patience.isOver {
        throw CacheError(
          .loadTimedOut,
          "The value of \(quoted(key.string)) was not loaded within \(patience.timeLimit ?? .zero). The load goes on, "
            + "and its value is stored when it ends.")
      }
      hanging = flight
    }
  }

  /// Waits until the load ends, the caller is cancelled, or the limit is over: nil.
  private func wait(
    for flight: Flight, _ waiter: Flight.Waiter, _ caller: LoadCaller, _ patience: Patience
  ) async -> Outcome? {
    let stop = patience.limit(for: flight, waiter, caller).map { limit in
      let ring: @Sendable () -> Void = { [self] in
        leave(flight, waiter, with: nil, keepsLoad: patience.timeLimit != nil)
      }
      if let executor = caller.executor {
        let alarm = executor.setAlarm(after: limit, ring)
        return { executor.clear(alarm) }
      }
      return CacheClock.start(on: Self.timers, after: .nanoseconds(Int(clamping: limit.clampedNanoseconds)), ring)
    }
    defer { stop?() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Outcome?, Never>) in
        flight.wait(as: waiter) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      leave(flight, waiter, with: .failure(CancellationError()), keepsLoad: false)
    }
  }

  /// The flight to join, or a new one to lead.
  ///
  /// - Parameter hanging: A flight that is not joined any more.
  /// - Throws: `.recursiveLoad`
  private func join(
    _ key: ByteKey, _ caller: LoadCaller, _ patience: Patience, replacing hanging: Flight?
  ) throws(CacheError) -> (flight: Flight, waiter: Flight.Waiter) {
    try caller.checkRecursion(key, self, includesTasks: hanging != nil)
    let new = Flight(
      Load(key, of: self, caller, isOnOwnThread: patience.timeLimit != nil), isOfTask: caller.executor == nil,
      generation: hanging.map { $0.generation + 1 } ?? 0)
    return flights.withLock { flights in
      // After a write of the key no caller gets a value that was loaded before it.
      if let flight = flights[key], flight !== hanging, !flight.load.isSuperseded, let waiter = flight.join() {
        return (flight, waiter)
      }
      flights[key] = new
      return (new, .leader)
    }
  }

  /// The callers that wait for the key, the leader included. For tests.
  func waiterCount(_ key: ByteKey) -> Int { flights.withLock { $0[key]?.waiterCount ?? 0 } }

  private func leave(_ flight: Flight, _ waiter: Flight.Waiter, with outcome: Outcome?, keepsLoad: Bool) {
    if flight.leave(waiter, with: outcome, keepsLoad: keepsLoad) { retire(flight) }
  }

  private func retire(_ flight: Flight) {
    flights.withLock { if $0[flight.load.key] === flight { $0[flight.load.key] = nil } }
  }
}

/// A load that threads and tasks wait for: a state machine whose events return the resumptions to call.
final class Flight: Sendable {
  struct Waiter: Hashable {
    fileprivate let number: Int

    /// The caller that made the flight. A thread that runs the load does not wait for it.
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

    var waiterCount: Int { waits.values.count { if case .left = $0 { false } else { true } } }
  }

  let load: Load
  /// Whether the load runs in a task: it may need the very thread that waits for it then.
  let isOfTask: Bool
  /// How many flights of the key hang that this one takes the place of.
  let generation: Int
  private let state = Mutex(State())

  init(_ load: Load, isOfTask: Bool, generation: Int) {
    self.load = load
    self.isOfTask = isOfTask
    self.generation = generation
  }

  /// Starts the load's task. The leader does so, once.
  func begin(on executor: ThreadExecutor?, _ body: @escaping @Sendable () async -> SingleFlight.Outcome) {
    let task = Task(executorPreference: executor) {
      _ = await body()
      executor?.end()
    }
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

  var waiterCount: Int { state.withLock { $0.waiterCount } }

  /// Has `resumption` called, once: with the outcome, or with what the waiter leaves with.
  func wait(as waiter: Waiter, _ resumption: @escaping Resumption) {
    let result = state.withLock { state -> SingleFlight.Outcome?? in
      let outcome: SingleFlight.Outcome?
      if case .left(let left)? = state.waits[waiter] {
        outcome = left
      } else if let finished = state.outcome {
        outcome = finished
      } else {
        state.waits[waiter] = .begun(resumption)
        return nil
      }
      state.waits[waiter] = nil
      return .some(outcome)
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
      if state.outcome != nil || state.isKept || state.waiterCount > 0 { return (false, nil) }
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
