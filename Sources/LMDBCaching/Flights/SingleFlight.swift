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
