import Platform

/// The connections of blocking threads.
// @unchecked: variables are accessed with the lock held.
final class RedisPool: @unchecked Sendable {
  /// An attempt to connect.
  private final class Attempt {
    enum State {
      case underway
      /// Finished successfully, or made before a renewal.
      case over
      case failed(RemoteTierError)
    }

    var state = State.underway
  }

  private let limit: Int
  private let connector: RedisConnector
  private let onForeign: @Sendable (String) -> Void
  private let lock = ConditionLock()
  private var idle: [RedisSession] = []
  /// Connections that exist or are being made.
  private var count = 0
  private var isClosed = false
  /// Counts renewals: connections of earlier generations are not reused.
  private var generation = 0

  /// - Parameter onForeign: Called when a server reports that it is not, or no longer, the fleet's.
  init(limit: Int, _ connector: RedisConnector, onForeign: @escaping @Sendable (String) -> Void) {
    self.limit = limit
    self.connector = connector
    self.onForeign = onForeign
  }

  func perform(_ commands: [RemoteCommand], timeLimit: Int64) throws(RemoteTierError) -> [RemoteReply] {
    let deadline = MonotonicClock.nanoseconds.addingClamped(timeLimit)
    let (session, generation) = try take(deadline)
    do throws(RemoteTierError) {
      let replies = try session.perform(commands, deadline: deadline)
      put(session, generation)
      for case .error(let message) in replies where RemoteTierError.isOfAnotherServer(reply: message) {
        onForeign(message)
      }
      return replies
    } catch {
      put(nil, generation)
      throw error
    }
  }

  private func take(_ deadline: Int64) throws(RemoteTierError) -> (RedisSession, Int) {
    lock.lock()
    defer { lock.unlock() }
    var attempt: Attempt?
    while true {
      if isClosed { throw RemoteTierError(.closed, "The connections were closed.") }
      if let session = idle.popLast() {
        // The server may have closed it.
        if session.isQuiet(now: MonotonicClock.nanoseconds) { return (session, generation) }
        count -= 1
        continue
      }
      switch attempt?.state {
      case .failed(let error): throw error
      // Taken by another thread, or renewed.
      case .over: attempt = nil
      case .underway, nil: break
      }
      if attempt == nil, count < limit {
        let new = Attempt()
        attempt = new
        count += 1
        connect(new, generation)
      }
      let rest = deadline - MonotonicClock.nanoseconds
      if rest <= 0 {
        guard attempt == nil else { throw RemoteTierError(.timedOut, "Connecting to the server took too long.") }
        throw RemoteTierError(.busy, "All \(count) connections are in use. Allow for more, or for more time.")
      }
      _ = lock.wait(for: .progress, nanoseconds: rest)
    }
  }

  private func connect(_ attempt: Attempt, _ generation: Int) {
    // Sendable: accessed with the lock held.
    nonisolated(unsafe) let attempt = attempt
    connector.connect { [self] result in
      switch result {
      case .success(let session):
        do throws(RemoteTierError) {
          try session.makeWaiting()
          end(attempt, session, generation, .over)
        } catch {
          end(attempt, nil, generation, .failed(error))
        }
      case .failure(let error): end(attempt, nil, generation, .failed(error))
      }
    }
  }

  private func end(_ attempt: Attempt, _ session: RedisSession?, _ generation: Int, _ state: Attempt.State) {
    lock.withLock {
      attempt.state = state
      putLocked(session, generation)
    }
  }

  /// - Parameter session: `nil` after a failure.
  private func put(_ session: RedisSession?, _ generation: Int) {
    lock.withLock { putLocked(session, generation) }
  }

  private func putLocked(_ session: RedisSession?, _ generation: Int) {
    if let session, !isClosed, generation == self.generation { idle.append(session) } else { count -= 1 }
    lock.signalAll(.progress)
  }

  /// Connections in use are not reused.
  func renew() {
    let sessions = lock.withLock { () -> [RedisSession] in
      generation += 1
      defer { idle = [] }
      count -= idle.count
      return idle
    }
    withExtendedLifetime(sessions) {}
  }

  func close() {
    let sessions = lock.withLock { () -> [RedisSession] in
      isClosed = true
      lock.signalAll(.progress)
      defer { idle = [] }
      count -= idle.count
      return idle
    }
    withExtendedLifetime(sessions) {}
  }
}
