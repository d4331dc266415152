import Platform

/// The connections of blocking threads.
// @unchecked: variables are accessed with the lock held.
final class RedisPool: @unchecked Sendable {
  /// An attempt to connect.
  // @unchecked: accessed with the lock held.
  private final class Attempt: @unchecked Sendable {
    var isOver = false
    var failure: RemoteTierError?
  }

  private let limit: Int
  private let connector: RedisConnector
  private let lock = ConditionLock()
  private var idle: [RedisSession] = []
  /// Connections that exist or are being made.
  private var count = 0
  private var isClosed = false

  init(limit: Int, _ connector: RedisConnector) {
    self.limit = limit
    self.connector = connector
  }

  func perform(_ commands: [RemoteCommand], timeLimit: Int64) throws(RemoteTierError) -> [RemoteReply] {
    let deadline = MonotonicClock.nanoseconds.addingClamped(timeLimit)
    let session = try take(deadline)
    do throws(RemoteTierError) {
      let replies = try session.perform(commands, deadline: deadline)
      replies.forEach(connector.check)
      lock.withLock { put(session) }
      return replies
    } catch {
      lock.withLock { put(nil) }
      throw error
    }
  }

  private func take(_ deadline: Int64) throws(RemoteTierError) -> RedisSession {
    lock.lock()
    defer { lock.unlock() }
    var attempt: Attempt?
    while true {
      if isClosed { throw .tierClosed }
      if let session = idle.popLast() {
        // The server may have closed it.
        if connector.isCurrent(session), session.isQuiet(now: MonotonicClock.nanoseconds) { return session }
        count -= 1
        continue
      }
      if let failure = attempt?.failure { throw failure }
      // Taken by another thread, or renewed.
      if attempt?.isOver == true { attempt = nil }
      if attempt == nil, count < limit {
        let new = Attempt()
        attempt = new
        count += 1
        connect(new)
      }
      let rest = deadline - MonotonicClock.nanoseconds
      if rest <= 0 {
        guard attempt == nil else { throw RemoteTierError(.timedOut, "Connecting to the server took too long.") }
        throw RemoteTierError(.busy, "All \(count) connections are in use. Allow for more, or for more time.")
      }
      _ = lock.wait(for: .progress, nanoseconds: rest)
    }
  }

  private func connect(_ attempt: Attempt) {
    connector.connect { [self] result in
      lock.withLock {
        attempt.isOver = true
        switch result {
        case .success(let session): put(session)
        case .failure(let error):
          attempt.failure = error
          put(nil)
        }
      }
    }
  }

  /// - Parameter session: `nil` after a failure.
  private func put(_ session: RedisSession?) {
    if let session, !isClosed, connector.isCurrent(session) { idle.append(session) } else { count -= 1 }
    lock.signalAll(.progress)
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
