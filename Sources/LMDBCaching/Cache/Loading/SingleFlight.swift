import Dispatch
import Synchronization

/// Makes concurrent loads of one key a single one: the first caller leads, the others join and get its outcome.
///
/// Threads and tasks fly separately: a thread that waited for a task could keep that task from a thread.
///
/// No caller waits for ever for another one's load. Where the load is known to wait for the caller (see ``WaitGraph``),
/// the caller loads by itself at once. That cannot always be known, as where the closure of a load waits for another
/// thread that asks for the same key: so the wait has a limit, and the caller loads by itself then.
final class SingleFlight: Sendable {
  typealias Outcome = Result<any Sendable, any Error>

  private struct State {
    /// The latest flight of each key.
    var threadFlights: [ByteKey: ThreadFlight] = [:]
    var taskFlights: [ByteKey: TaskFlight] = [:]

    // One that a write of its key has overtaken is joined no more: who asks after a removal must not be given what was
    // loaded before it.

    func threadFlight(_ key: ByteKey) -> ThreadFlight? {
      threadFlights[key].flatMap { $0.load.isSuperseded ? nil : $0 }
    }

    func joinTaskFlight(_ key: ByteKey) -> (flight: TaskFlight, waiter: TaskFlight.Waiter)? {
      guard let flight = taskFlights[key], !flight.load.isSuperseded else { return nil }
      return flight.join().map { (flight, $0) }
    }
  }

  private let state = Mutex(State())
  private let waitLimit: Duration

  init(waitLimit: Duration) { self.waitLimit = waitLimit }

  /// A wait that may be one of a circle is shorter.
  private func limit(_ outlook: WaitGraph.Outlook) -> Duration {
    outlook == .possibleCircle ? waitLimit / 10 : waitLimit
  }

  // MARK: Threads

  /// What `load` returns, or what the load of another thread did that is under way.
  func value(_ key: ByteKey, _ load: (Load) throws -> any Sendable) throws -> any Sendable {
    let (flight, isLeader) = try threadFlight(key)
    if isLeader {
      let outcome = WaitGraph.waiting(for: flight.load) { _ in
        Outcome { try flight.load.run { try load(flight.load) } }
      }
      state.withLock { if $0.threadFlights[key] === flight { $0.threadFlights[key] = nil } }
      flight.outcome.finish(outcome)
      return try outcome.get()
    }
    var isCircle = false
    let outcome = WaitGraph.waiting(for: flight.load) { outlook -> Outcome? in
      isCircle = outlook == .circle
      return isCircle ? nil : flight.outcome.wait(limit(outlook))
    }
    if let outcome { return try outcome.get() }
    let own = try Load(key, of: self, isStored: !isCircle)
    return try WaitGraph.waiting(for: own) { _ in try own.run { try load(own) } }
  }

  /// The flight to join, or a new one to lead.
  private func threadFlight(_ key: ByteKey) throws(CacheError) -> (flight: ThreadFlight, isLeader: Bool) {
    if let flight = state.withLock({ $0.threadFlight(key) }) { return (flight, false) }
    let new = ThreadFlight(try Load(key, of: self, isStored: true))
    return state.withLock { state in
      if let flight = state.threadFlight(key) { return (flight, false) }
      state.threadFlights[key] = new
      return (new, true)
    }
  }

  // MARK: Tasks

  /// The same for tasks. The load of a flight runs in a task of its own, which is cancelled when nobody waits any more.
  nonisolated(nonsending) func value(
    _ key: ByteKey, _ load: @escaping @Sendable (Load) async throws -> any Sendable
  ) async throws -> any Sendable {
    try Task.checkCancellation()
    let (flight, waiter) = try taskFlight(key)
    if waiter == .leader { flight.begin { [self] in await run(flight, load) } }
    var isCircle = false
    let outcome = await WaitGraph.waiting(for: flight.load) { outlook -> Outcome? in
      isCircle = outlook == .circle
      if isCircle {
        leave(flight, waiter, with: nil)
        return nil
      }
      return await wait(for: flight, waiter, waiter == .leader ? nil : limit(outlook))
    }
    if let outcome { return try outcome.get() }
    let own = try Load(key, of: self, isStored: !isCircle)
    return try await WaitGraph.waiting(for: own) { _ in try await own.run { try await load(own) } }
  }

  private func taskFlight(_ key: ByteKey) throws(CacheError) -> (flight: TaskFlight, waiter: TaskFlight.Waiter) {
    if let joined = state.withLock({ $0.joinTaskFlight(key) }) { return joined }
    let new = TaskFlight(try Load(key, of: self, isStored: true))
    return state.withLock { state in
      if let joined = state.joinTaskFlight(key) { return joined }
      state.taskFlights[key] = new
      return (new, .leader)
    }
  }

  private func run(_ flight: TaskFlight, _ load: @Sendable (Load) async throws -> any Sendable) async {
    let outcome: Outcome
    do { outcome = .success(try await flight.load.run { try await load(flight.load) }) } catch {
      outcome = .failure(error)
    }
    retire(flight)
    flight.finish(outcome)
  }

  /// Waits until the load ends, the caller is cancelled, or the limit is over: nil.
  private nonisolated(nonsending) func wait(
    for flight: TaskFlight, _ waiter: TaskFlight.Waiter, _ limit: Duration?
  ) async -> Outcome? {
    let timer = limit.map { limit in
      Task { [self] in
        do { try await Task.sleep(for: limit) } catch { return }
        leave(flight, waiter, with: nil)
      }
    }
    defer { timer?.cancel() }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { flight.wait(as: waiter, $0) }
    } onCancel: {
      leave(flight, waiter, with: .failure(CancellationError()))
    }
  }

  private func leave(_ flight: TaskFlight, _ waiter: TaskFlight.Waiter, with outcome: Outcome?) {
    if flight.leave(waiter, with: outcome) { retire(flight) }
  }

  private func retire(_ flight: TaskFlight) {
    state.withLock { if $0.taskFlights[flight.load.key] === flight { $0.taskFlights[flight.load.key] = nil } }
  }
}
