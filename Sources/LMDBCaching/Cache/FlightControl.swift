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
    /// This thread is the leader.
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
    var taskFlights: [ByteKey: TaskFlight] = [:]
    var lastNumber: UInt64 = 0
  }

  private let state = Mutex(State())

  // MARK: Threads

  /// Becomes the leader of a flight, or waits for the one that is under way.
  func board(_ key: ByteKey) -> Boarding {
    let (flight, isMine) = state.withLock { state -> (Flight, Bool) in
      if let flight = state.flights[key] { return (flight, false) }
      let flight = Flight()
      state.flights[key] = flight
      return (flight, true)
    }
    if isMine { return .lead(flight) }
    if pthread_equal(flight.leader, pthread_self()) != 0 { return .nested }
    return .landed(flight.wait())
  }

  func lead<V: Sendable>(_ flight: Flight, _ key: ByteKey, _ load: () throws -> V) throws -> V {
    let result = Result { try load() }
    state.withLock { _ = $0.flights.removeValue(forKey: key) }
    flight.land(result.map { $0 as any Sendable })
    return try result.get()
  }

  // MARK: Tasks

  /// Waits for the flight of `key`, which this call starts if there is none.
  func join(
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
