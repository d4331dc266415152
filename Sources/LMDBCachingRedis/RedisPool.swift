import Platform

/// The connections of threads that wait.
// @unchecked: `idle` and `count` are touched with the lock held.
final class RedisPool: @unchecked Sendable {
  private let configuration: RedisConfiguration
  private let lock = ConditionLock()
  private var idle: [RedisSession] = []
  private var count = 0
  private var isClosed = false

  init(_ configuration: RedisConfiguration) { self.configuration = configuration }

  func perform(_ commands: [RemoteCommand], timeLimit: Int64) throws(RemoteTierError) -> [RemoteReply] {
    let deadline = MonotonicClock.nanoseconds.addingReportingOverflow(timeLimit).partialValue
    var session = try take(deadline)
    do throws(RemoteTierError) {
      if session == nil {
        session = try RedisSession(configuration, deadline: deadline)
        session?.makeBlocking()
      }
      guard let session else { preconditionFailure("A connection was made that is none.") }
      let replies = try session.perform(commands, deadline: deadline)
      put(session)
      return replies
    } catch {
      put(nil)
      throw error
    }
  }

  /// `nil`: one may be made.
  private func take(_ deadline: Int64) throws(RemoteTierError) -> RedisSession? {
    lock.lock()
    defer { lock.unlock() }
    while true {
      if isClosed { throw RemoteTierError(.closed, "The connections were closed.") }
      if let session = idle.popLast() {
        // The server may have ended it meanwhile.
        if session.isQuiet(now: MonotonicClock.nanoseconds) { return session }
        count -= 1
        continue
      }
      if count < configuration.connections {
        count += 1
        return nil
      }
      let rest = deadline - MonotonicClock.nanoseconds
      if rest <= 0
        || !lock.wait(for: .progress, nanoseconds: rest) && idle.isEmpty && count == configuration.connections
      {
        throw RemoteTierError(
          .timedOut, "All \(count) connections are in use. Allow for more, or for more time.")
      }
    }
  }

  /// - Parameter session: Nil: it failed.
  private func put(_ session: RedisSession?) {
    lock.withLock {
      if let session, !isClosed { idle.append(session) } else { count -= 1 }
      lock.signalAll(.progress)
    }
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
