import Synchronization

/// Makes concurrent loads of one key a single one: the first caller leads, the others join and get its outcome. Threads
/// and tasks fly together, through whichever cache of the process on the directory they ask.
///
/// A thread leads by running its load itself; a task's load runs in a task of its own. Tasks that wait hold no thread.
/// A thread of Swift's pool, in which somebody calls the form for threads, does not wait for a task, which may need that
/// thread: it loads by itself.
///
/// No caller waits for ever for another one's load. Where the load is known to wait for the caller (see ``WaitGraph``),
/// the caller loads by itself at once. That cannot always be known, as where the closure of a load waits for another
/// thread that asks for the same key: so the wait has a limit, and the caller loads by itself then.
final class SingleFlight: Sendable {
  typealias Outcome = Result<any Sendable, any Error>

  /// What a caller finds that waits for somebody else's load.
  enum Encounter {
    case ended(Outcome)
    /// It still runs, after this wait: shorter than the caller's limit if it may be one of a circle.
    case running(Duration)
    /// There is none, or the caller must not wait for it: it loads by itself.
    case none
  }

  private struct State {
    /// The latest flight of each key.
    var flights: [ByteKey: Flight] = [:]

    /// One that a write of its key has overtaken is joined no more: who asks after a removal must not be given what was
    /// loaded before it.
    func join(_ key: ByteKey) -> (flight: Flight, waiter: Flight.Waiter)? {
      guard let flight = flights[key], !flight.load.isSuperseded else { return nil }
      return flight.join().map { (flight, $0) }
    }
  }

  private let state = Mutex(State())

  /// A wait that may be one of a circle is shorter.
  private static func limit(_ outlook: WaitGraph.Outlook, _ limit: Duration) -> Duration {
    outlook == .possibleCircle ? limit / 10 : limit
  }

  // MARK: Threads

  /// What `load` returns, or what the load of somebody else did that is under way.
  ///
  /// - Parameter limit: How long to wait for somebody else's load.
  func value(_ key: ByteKey, waitingFor limit: Duration, _ load: (Load) throws -> any Sendable) throws
    -> any Sendable
  {
    let (flight, waiter) = try flight(key, isOfTask: false)
    if waiter == .leader {
      let outcome = WaitGraph.waiting(for: flight.load) { _ in
        Outcome { try flight.load.run { try load(flight.load) } }
      }
      retire(flight)
      flight.finish(outcome)
      return try outcome.get()
    }
    var isCircle = false
    let encounter = meet(flight, waiter, waitingFor: limit, isCircle: &isCircle)
    if case .ended(let outcome) = encounter { return try outcome.get() }
    let own = try Load(key, of: self, isStored: !isCircle)
    return try WaitGraph.waiting(for: own) { _ in try own.run { try load(own) } }
  }

  /// Waits for the load of the key that is under way, on the caller's thread. Starts none.
  func encounter(_ key: ByteKey, waitingFor limit: Duration) -> Encounter {
    guard let (flight, waiter) = state.withLock({ $0.join(key) }) else { return .none }
    var isCircle = false
    return meet(flight, waiter, waitingFor: limit, isCircle: &isCircle)
  }

  private func meet(
    _ flight: Flight, _ waiter: Flight.Waiter, waitingFor limit: Duration, isCircle: inout Bool
  ) -> Encounter {
    WaitGraph.waiting(for: flight.load) { outlook in
      isCircle = outlook == .circle
      if isCircle || flight.isOfTask && LoadExecutor.isOnPool {
        leave(flight, waiter, with: nil)
        return .none
      }
      let limit = Self.limit(outlook, limit)
      return wait(for: flight, waiter, limit).map { .ended($0) } ?? .running(limit)
    }
  }

  /// Blocks until the load ends, or the limit is over: nil.
  private func wait(for flight: Flight, _ waiter: Flight.Waiter, _ limit: Duration) -> Outcome? {
    let result = AwaitedResult<Outcome?>()
    flight.wait(as: waiter) { result.finish($0) }
    if let outcome = result.wait(limit) { return outcome }
    leave(flight, waiter, with: nil)
    // It may have ended just then.
    return result.wait(.zero) ?? nil
  }

  // MARK: Tasks

  /// The same for tasks. The load runs in a task of its own, which is cancelled when nobody waits any more.
  nonisolated(nonsending) func value(
    _ key: ByteKey, waitingFor limit: Duration, _ load: @escaping @Sendable (Load) async throws -> any Sendable
  ) async throws -> any Sendable {
    try Task.checkCancellation()
    let (flight, waiter) = try flight(key, isOfTask: true)
    if waiter == .leader { flight.begin { [self] in await run(flight, load) } }
    var isCircle = false
    let outcome = await WaitGraph.waiting(for: flight.load) { outlook -> Outcome? in
      isCircle = outlook == .circle
      if isCircle {
        leave(flight, waiter, with: nil)
        return nil
      }
      return await wait(for: flight, waiter, waiter == .leader ? nil : Self.limit(outlook, limit))
    }
    if let outcome { return try outcome.get() }
    let own = try Load(key, of: self, isStored: !isCircle)
    return try await WaitGraph.waiting(for: own) { _ in try await own.run { try await load(own) } }
  }

  private func run(_ flight: Flight, _ load: @Sendable (Load) async throws -> any Sendable) async {
    let outcome: Outcome
    do { outcome = .success(try await flight.load.run { try await load(flight.load) }) } catch {
      outcome = .failure(error)
    }
    retire(flight)
    flight.finish(outcome)
  }

  /// Waits until the load ends, the caller is cancelled, or the limit is over: nil.
  private nonisolated(nonsending) func wait(
    for flight: Flight, _ waiter: Flight.Waiter, _ limit: Duration?
  ) async -> Outcome? {
    let timer = limit.map { limit in
      Task { [self] in
        do { try await Task.sleep(for: limit) } catch { return }
        leave(flight, waiter, with: nil)
      }
    }
    defer { timer?.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { (continuation: CheckedContinuation<Outcome?, Never>) in
        flight.wait(as: waiter) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      leave(flight, waiter, with: .failure(CancellationError()))
    }
  }

  // MARK: Both

  /// The flight to join, or a new one to lead.
  private func flight(_ key: ByteKey, isOfTask: Bool) throws(CacheError) -> (flight: Flight, waiter: Flight.Waiter) {
    if let joined = state.withLock({ $0.join(key) }) { return joined }
    let new = Flight(try Load(key, of: self, isStored: true), isOfTask: isOfTask)
    return state.withLock { state in
      if let joined = state.join(key) { return joined }
      state.flights[key] = new
      return (new, .leader)
    }
  }

  /// See ``Flight/waiterCount``; 0 if no load of the key is under way.
  func waiterCount(_ key: ByteKey) -> Int { state.withLock { $0.flights[key]?.waiterCount ?? 0 } }

  private func leave(_ flight: Flight, _ waiter: Flight.Waiter, with outcome: Outcome?) {
    if flight.leave(waiter, with: outcome) { retire(flight) }
  }

  private func retire(_ flight: Flight) {
    state.withLock { if $0.flights[flight.load.key] === flight { $0.flights[flight.load.key] = nil } }
  }
}
