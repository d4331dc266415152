import Foundation
import Synchronization

/// Makes concurrent loads of one key a single one.
///
/// Threads and tasks fly separately: a thread that waited for a task could keep that task from a thread.
final class FlightControl: Sendable {
  typealias Landing = Result<any Sendable, any Error>

  /// A load that threads wait for.
  // Sendable: `landing` is guarded by `condition`; the rest is immutable.
  final class Flight: @unchecked Sendable {
    let leader = pthread_self()
    private let condition = NSCondition()
    private var landing: Landing?

    func land(_ result: Landing) {
      condition.lock()
      landing = result
      condition.broadcast()
      condition.unlock()
    }

    func wait() -> Landing {
      condition.lock()
      defer { condition.unlock() }
      while true {
        if let landing { return landing }
        condition.wait()
      }
    }
  }

  enum Boarding {
    case lead(Flight)
    case landed(Landing)
    /// This thread is the leader, or its leader waits for this thread.
    case nested
  }

  /// A load that tasks wait for.
  private struct TaskFlight {
    var task: Task<Void, Never>?
    var waiters: [UInt64: CheckedContinuation<any Sendable, any Error>] = [:]
    let number: UInt64
  }

  private struct State {
    var flights: [ByteKey: Flight] = [:]
    /// What each thread waits for that waits.
    var waiting: [pthread_t: Flight] = [:]
    var taskFlights: [ByteKey: TaskFlight] = [:]
    var lastNumber: UInt64 = 0
  }

  private let state = Mutex(State())

  // MARK: Threads

  /// Becomes the leader of a flight, or waits for the one that is under way.
  func board(_ key: ByteKey) -> Boarding {
    let thread = pthread_self()
    let boarded = state.withLock { state -> (flight: Flight, isMine: Bool)? in
      guard let flight = state.flights[key] else {
        let flight = Flight()
        state.flights[key] = flight
        return (flight, true)
      }
      // Whoever leads it may be waiting for this thread, by way of others: then none of them would ever land.
      var next: Flight? = flight
      while let current = next {
        if pthread_equal(current.leader, thread) != 0 { return nil }
        next = state.waiting[current.leader]
      }
      state.waiting[thread] = flight
      return (flight, false)
    }
    guard let boarded else { return .nested }
    if boarded.isMine { return .lead(boarded.flight) }
    let landing = boarded.flight.wait()
    state.withLock { _ = $0.waiting.removeValue(forKey: thread) }
    return .landed(landing)
  }

  func lead<V: Sendable>(_ flight: Flight, _ key: ByteKey, _ load: () throws -> V) throws -> V {
    let result = Result { try load() }
    state.withLock { _ = $0.flights.removeValue(forKey: key) }
    flight.land(result.map { $0 as any Sendable })
    return try result.get()
  }

  // MARK: Tasks

  private struct Route: Hashable {
    let control: ObjectIdentifier
    let key: ByteKey
  }

  /// The flights that wait for this task.
  @TaskLocal private static var aloft: Set<Route> = []

  /// Waits for the flight of `key`, which this call starts if there is none. From within its own load it loads at once.
  func join(
    _ key: ByteKey, _ load: @escaping @Sendable () async throws -> any Sendable
  ) async throws -> any Sendable {
    let route = Route(control: ObjectIdentifier(self), key: key)
    if Self.aloft.contains(route) { return try await load() }
    return try await Self.$aloft.withValue(Self.aloft.union([route])) { try await joinFlight(key, load) }
  }

  private func joinFlight(
    _ key: ByteKey, _ load: @escaping @Sendable () async throws -> any Sendable
  ) async throws -> any Sendable {
    let ticket = state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        enter(key, ticket, continuation, load)
      }
    } onCancel: {
      leave(key, ticket)
    }
  }

  private func enter(
    _ key: ByteKey, _ ticket: UInt64, _ continuation: CheckedContinuation<any Sendable, any Error>,
    _ load: @escaping @Sendable () async throws -> any Sendable
  ) {
    // The handler may have run before there was a continuation to resume.
    if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
    state.withLock { state in
      if state.taskFlights[key] != nil {
        state.taskFlights[key]!.waiters[ticket] = continuation
        return
      }
      state.lastNumber += 1
      var flight = TaskFlight(number: state.lastNumber)
      flight.waiters[ticket] = continuation
      let number = flight.number
      flight.task = Task { [self] in
        let result: Landing
        do { result = .success(try await load()) } catch { result = .failure(error) }
        land(key, number, result)
      }
      state.taskFlights[key] = flight
    }
    // Cancelled between the look above and the entry: the handler found nothing.
    if Task.isCancelled { leave(key, ticket) }
  }

  private func leave(_ key: ByteKey, _ ticket: UInt64) {
    let (continuation, task) = state.withLock {
      state -> (CheckedContinuation<any Sendable, any Error>?, Task<Void, Never>?) in
      guard let continuation = state.taskFlights[key]?.waiters.removeValue(forKey: ticket) else { return (nil, nil) }
      guard state.taskFlights[key]!.waiters.isEmpty else { return (continuation, nil) }
      return (continuation, state.taskFlights.removeValue(forKey: key)?.task)
    }
    task?.cancel()
    continuation?.resume(throwing: CancellationError())
  }

  private func land(_ key: ByteKey, _ number: UInt64, _ result: Landing) {
    let waiters = state.withLock { state -> [CheckedContinuation<any Sendable, any Error>] in
      // Everybody left, and another flight may have taken off since.
      guard let flight = state.taskFlights[key], flight.number == number else { return [] }
      state.taskFlights.removeValue(forKey: key)
      return Array(flight.waiters.values)
    }
    for waiter in waiters { waiter.resume(with: result) }
  }
}
