import Platform

/// The connections of threads that wait.
// @unchecked: what varies is touched with the lock held.
final class RedisPool: @unchecked Sendable {
  /// A connection that is being made.
  private final class Attempt {
    enum State {
      case underway
      /// There is one more, or it was made before the connections were renewed.
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
  /// How many there are, or are being made.
  private var count = 0
  private var isClosed = false
  /// Counts how often the connections were renewed: those of before are not used again.
  private var generation = 0

  /// - Parameter onForeign: Called when a server says that it is not, or no longer, the one that the fleet is on.
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
        // The server may have ended it meanwhile.
        if session.isQuiet(now: MonotonicClock.nanoseconds) { return (session, generation) }
        count -= 1
        continue
      }
      switch attempt?.state {
      case .failed(let error): throw error
      // Somebody else has taken it, or nobody may.
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
    // Sendable: it is touched with the lock held.
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

  /// - Parameter session: Nil: it failed.
  private func put(_ session: RedisSession?, _ generation: Int) {
    lock.withLock { putLocked(session, generation) }
  }

  private func putLocked(_ session: RedisSession?, _ generation: Int) {
    if let session, !isClosed, generation == self.generation { idle.append(session) } else { count -= 1 }
    lock.signalAll(.progress)
  }

  /// What is used now is not used again.
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
