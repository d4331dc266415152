import Dispatch
import LMDBCaching
import Platform
import Synchronization

/// Asks the server, unless it fails all the time.
///
/// Reads and writes have a breaker each: a server that is full, or a replica, still reads. What is said by a reply that is
/// an error counts as a failure if it is about the server, and not about the command.
final class RemoteClient: Sendable {
  /// What is asked for, for the breakers.
  enum Purpose: Sendable { case read, write }

  private let tier: any RemoteTier
  private let timeLimit: Duration
  private let breakers: Mutex<(read: CircuitBreaker, write: CircuitBreaker)>
  private let metrics: RemoteMetrics?
  private let onChange: @Sendable (RemoteTierError?) -> Void
  let counters = RemoteCounters()

  /// - Parameter onChange: Called when a breaker opens, with the failure, and when it closes.
  init(
    _ tier: any RemoteTier, timeLimit: Duration, breaker: BreakerSettings, metrics: RemoteMetrics? = nil,
    onChange: @escaping @Sendable (RemoteTierError?) -> Void
  ) {
    self.tier = tier
    self.timeLimit = timeLimit
    breakers = Mutex((CircuitBreaker(breaker), CircuitBreaker(breaker)))
    self.metrics = metrics
    self.onChange = onChange
  }

  /// Whether requests of a kind are not made for a while.
  func isSuspended(_ purpose: Purpose) -> Bool {
    let now = MonotonicClock.nanoseconds
    return breakers.withLock { purpose == .read ? $0.read.isPausing(now: now) : $0.write.isPausing(now: now) }
  }

  func send(
    _ commands: [RemoteCommand], _ purpose: Purpose,
    completion: @escaping @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void
  ) {
    guard isAllowed(purpose) else { return completion(.failure(Self.suspended)) }
    let start = MonotonicClock.nanoseconds
    tier.send(commands, timeLimit: timeLimit, isBlocking: false) { [self] result in
      completion(settle(result, commands.count, purpose, since: start))
    }
  }

  func sendAndWait(_ commands: [RemoteCommand], _ purpose: Purpose) throws(RemoteTierError) -> [RemoteReply] {
    guard isAllowed(purpose) else { throw Self.suspended }
    let start = MonotonicClock.nanoseconds
    let result: Result<[RemoteReply], RemoteTierError>
    do throws(RemoteTierError) {
      result = .success(try tier.sendAndWait(commands, timeLimit: timeLimit))
    } catch {
      result = .failure(error)
    }
    return try settle(result, commands.count, purpose, since: start).get()
  }

  nonisolated(nonsending) func send(
    _ commands: [RemoteCommand], _ purpose: Purpose
  ) async throws(RemoteTierError) -> [RemoteReply] {
    try await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<[RemoteReply], RemoteTierError>, Never>) in
      send(commands, purpose) { continuation.resume(returning: $0) }
    }.get()
  }

  /// For what the server may hold back for some time. Takes no part in the breakers.
  func sendBlocking(
    _ commands: [RemoteCommand], upTo wait: Duration,
    completion: @escaping @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void
  ) {
    tier.send(commands, timeLimit: wait + timeLimit, isBlocking: true) { result in
      completion(Self.checked(result, commands.count))
    }
  }

  /// The server has answered somebody: what was suspended is tried again.
  func noteReachable() {
    let wasOpen = breakers.withLock { breakers in
      defer {
        breakers.read.noteSuccess()
        breakers.write.noteSuccess()
      }
      return breakers.read.isOpen || breakers.write.isOpen
    }
    if wasOpen { onChange(nil) }
  }

  func close() { tier.close() }

  // MARK: The breakers

  private static let suspended = RemoteTierError(
    .suspended, "The server failed several times in a row, and is asked again after a pause.")

  private func isAllowed(_ purpose: Purpose) -> Bool {
    let now = MonotonicClock.nanoseconds
    return breakers.withLock { purpose == .read ? $0.read.isAllowed(now: now) : $0.write.isAllowed(now: now) }
  }

  private func settle(
    _ result: Result<[RemoteReply], RemoteTierError>, _ count: Int, _ purpose: Purpose, since start: Int64
  ) -> Result<[RemoteReply], RemoteTierError> {
    let result = Self.checked(result, count)
    let now = MonotonicClock.nanoseconds
    counters.note(nanoseconds: now - start, isFailure: { if case .failure = result { true } else { false } }())
    metrics?.noteRequest(nanoseconds: now - start)
    switch result {
    case .success:
      let hasClosed = breakers.withLock { breakers in
        Self.change(&breakers, purpose) { breaker in
          defer { breaker.noteSuccess() }
          return breaker.isOpen
        }
      }
      if hasClosed { onChange(nil) }
    case .failure(let error) where error.code == .failed || error.code == .closed: break
    case .failure(let error):
      let random = Double.random(in: 0...1)
      let hasOpened = breakers.withLock { breakers in
        Self.change(&breakers, purpose) { $0.noteFailure(now: now, random: random) }
      }
      if hasOpened { onChange(error) }
    }
    return result
  }

  private static func change<R>(
    _ breakers: inout (read: CircuitBreaker, write: CircuitBreaker), _ purpose: Purpose,
    _ body: (inout CircuitBreaker) -> R
  ) -> R {
    switch purpose {
    case .read: body(&breakers.read)
    case .write: body(&breakers.write)
    }
  }

  /// Makes an error of the first reply that is one.
  private static func checked(
    _ result: Result<[RemoteReply], RemoteTierError>, _ count: Int
  ) -> Result<[RemoteReply], RemoteTierError> {
    guard case .success(let replies) = result else { return result }
    for case .error(let message) in replies { return .failure(RemoteTierError(reply: message)) }
    guard replies.count == count else {
      return .failure(RemoteTierError(.failed, "There are \(replies.count) replies to \(count) commands."))
    }
    return result
  }
}
