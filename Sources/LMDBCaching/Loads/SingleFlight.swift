import Dispatch
import Platform
import Synchronization

/// Makes concurrent loads of one key a single one: the first caller leads, the others join and get its outcome. Threads
/// and tasks fly together, through every cache of the process on the directory.
///
/// A thread without a time limit leads by running its load itself; with one, another thread runs it. A task's load runs
/// in a task of its own. Waiting tasks hold no thread.
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
    fileprivate func limit(for flight: Flight, _ waiter: Flight.Waiter) -> Duration? {
      let left = timeLimit.map { _ in Duration.nanoseconds(max(0, end - MonotonicClock.nanoseconds)) }
      if waiter == .leader || left != nil && Load.current == nil { return left }
      let limit = waitLimit * (1 << min(flight.generation, 16))
      return min(left ?? limit, limit)
    }
  }

  private let flights = Mutex<[ByteKey: Flight]>([:])

  // MARK: Threads

  /// What `load` returns, or the outcome of a load of the key that is under way.
  func value(
    _ key: ByteKey, _ patience: Patience, _ load: @escaping @Sendable (Load) throws -> any Sendable
  ) throws -> any Sendable {
    var hanging: Flight?
    while true {
      let (flight, waiter) = try join(key, replacing: hanging, isOfTask: false)
      if waiter == .leader {
        let run: @Sendable () -> Outcome = { [self] in
          finish(flight, Outcome { try flight.load.run { try load(flight.load) } })
        }
        if patience.timeLimit == nil { return try run().get() }
        LoadExecutor.run { _ = run() }
      } else if flight.isOfTask && LoadExecutor.isOnPool {
        // The task may need this very thread.
        leave(flight, waiter, with: nil, keepsLoad: false)
        hanging = flight
        continue
      }
      if let outcome = wait(for: flight, waiter, patience) { return try outcome.get() }
      if patience.isOver { throw Self.timedOut(key, patience) }
      hanging = flight
    }
  }

  /// Blocks until the load ends, or the limit is over: nil.
  private func wait(for flight: Flight, _ waiter: Flight.Waiter, _ patience: Patience) -> Outcome? {
    let result = AwaitedResult<Outcome?>()
    flight.wait(as: waiter) { result.finish($0) }
    let limit = patience.limit(for: flight, waiter) ?? patience.waitLimit
    if let outcome = result.wait(limit) { return outcome }
    leave(flight, waiter, with: nil, keepsLoad: patience.timeLimit != nil)
    // It may have ended just then.
    return result.wait(.zero) ?? nil
  }

  // MARK: Tasks

  /// The same for tasks. A load without a time limit is cancelled when nothing waits for it any more.
  nonisolated(nonsending) func value(
    _ key: ByteKey, _ patience: Patience, _ load: @escaping @Sendable (Load) async throws -> any Sendable
  ) async throws -> any Sendable {
    var hanging: Flight?
    while true {
      try Task.checkCancellation()
      let (flight, waiter) = try join(key, replacing: hanging, isOfTask: true)
      if waiter == .leader {
        flight.begin { [self] in
          let outcome: Outcome
          do { outcome = .success(try await flight.load.run { try await load(flight.load) }) } catch {
            outcome = .failure(error)
          }
          _ = finish(flight, outcome)
        }
      }
      if let outcome = await wait(for: flight, waiter, patience) { return try outcome.get() }
      if patience.isOver { throw Self.timedOut(key, patience) }
      hanging = flight
    }
  }

  /// Waits until the load ends, the caller is cancelled, or the limit is over: nil.
  private nonisolated(nonsending) func wait(
    for flight: Flight, _ waiter: Flight.Waiter, _ patience: Patience
  ) async -> Outcome? {
    let timer = patience.limit(for: flight, waiter).map { limit in
      Task { [self] in
        // The moment at which it ends must be one that a duration can express.
        do { try await Task.sleep(for: .nanoseconds(limit.clampedNanoseconds)) } catch { return }
        leave(flight, waiter, with: nil, keepsLoad: patience.timeLimit != nil)
      }
    }
    defer { timer?.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Outcome?, Never>) in
        flight.wait(as: waiter) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      leave(flight, waiter, with: .failure(CancellationError()), keepsLoad: false)
    }
  }

  // MARK: Both

  /// The flight to join, or a new one to lead.
  ///
  /// - Parameter hanging: A flight that is not joined any more.
  /// - Throws: `.recursiveLoad`
  private func join(
    _ key: ByteKey, replacing hanging: Flight?, isOfTask: Bool
  ) throws(CacheError) -> (flight: Flight, waiter: Flight.Waiter) {
    try Load.checkRecursion(key, self, includesTasks: hanging != nil)
    let new = Flight(Load(key, of: self), isOfTask: isOfTask, replacing: hanging)
    return flights.withLock { flights in
      // After a write of the key no caller gets a value that was loaded before it.
      if let flight = flights[key], flight !== hanging, !flight.load.isSuperseded, let waiter = flight.join() {
        return (flight, waiter)
      }
      flights[key] = new
      return (new, .leader)
    }
  }

  /// See ``Flight/waiterCount``; 0 if no load of the key is under way.
  func waiterCount(_ key: ByteKey) -> Int { flights.withLock { $0[key]?.waiterCount ?? 0 } }

  private func leave(_ flight: Flight, _ waiter: Flight.Waiter, with outcome: Outcome?, keepsLoad: Bool) {
    if flight.leave(waiter, with: outcome, keepsLoad: keepsLoad) { retire(flight) }
  }

  private func finish(_ flight: Flight, _ outcome: Outcome) -> Outcome {
    retire(flight)
    flight.finish(outcome)
    return outcome
  }

  private func retire(_ flight: Flight) {
    flights.withLock { if $0[flight.load.key] === flight { $0[flight.load.key] = nil } }
  }

  private static func timedOut(_ key: ByteKey, _ patience: Patience) -> CacheError {
    CacheError(
      .loadTimedOut,
      "The value of \(quoted(key.string)) was not loaded within \(patience.timeLimit ?? .zero). The load goes on, and its "
        + "value is stored when it ends.")
  }
}

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

/// A result that threads wait for.
final class AwaitedResult<R: Sendable>: Sendable {
  private let result = Mutex<R?>(nil)
  private let group = DispatchGroup()

  init() { group.enter() }

  deinit { if result.withLock({ $0 == nil }) { group.leave() } }

  /// To be called once.
  func finish(_ result: R) {
    self.result.withLock { $0 = result }
    group.leave()
  }

  /// Returns the result, or `nil` if the limit is over before there is one.
  func wait(_ limit: Duration) -> R? {
    _ = group.wait(timeout: .now() + .nanoseconds(Int(clamping: limit.clampedNanoseconds)))
    return result.withLock { $0 }
  }
}
