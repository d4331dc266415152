import Dispatch
import LMDBCaching
import Platform
import Synchronization

/// Asks the server, unless it fails all the time.
///
/// Reads and writes have a breaker each: a server that is full, or a replica, still reads. What is said by a reply that
/// is an error counts as a failure if it is about the server, and not about the command.
final class RemoteClient: Sendable {
  /// What is asked for, for the breakers.
  enum Purpose: Sendable { case read, write }

  struct Breakers: Sendable {
    var read: CircuitBreaker
    var write: CircuitBreaker

    subscript(purpose: Purpose) -> CircuitBreaker {
      get { purpose == .read ? read : write }
      _modify { if purpose == .read { yield &read } else { yield &write } }
    }
  }

  private let tier: any RemoteTier
  let timeLimit: Duration
  let breakers: Mutex<Breakers>
  let metrics: RemoteMetrics?
  let onChange: @Sendable (RemoteTierError?) -> Void
  let counters = RemoteCounters()

  /// - Parameter onChange: Called when a breaker opens, with the failure, and when it closes.
  init(
    _ tier: any RemoteTier, timeLimit: Duration, breaker: BreakerSettings, metrics: RemoteMetrics? = nil,
    onChange: @escaping @Sendable (RemoteTierError?) -> Void
  ) {
    self.tier = tier
    self.timeLimit = timeLimit
    breakers = Mutex(Breakers(read: CircuitBreaker(breaker), write: CircuitBreaker(breaker)))
    self.metrics = metrics
    self.onChange = onChange
  }

  /// Why requests of a kind are not made, or one at a time; `nil` if they are.
  func suspension(of purpose: Purpose) -> RemoteTierError? {
    breakers.withLock { $0[purpose].isOpen ? $0[purpose].failure : nil }
  }

  // MARK: Requests

  /// Finds a failure of the server's in replies that are no errors.
  typealias Judge = @Sendable ([RemoteReply]) -> RemoteTierError?

  func send(
    _ commands: [RemoteCommand], _ purpose: Purpose, judge: Judge? = nil,
    completion: @escaping @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void
  ) {
    guard isAllowed(purpose) else { return completion(.failure(Self.suspended)) }
    let start = MonotonicClock.nanoseconds
    tier.send(commands, timeLimit: timeLimit, isBlocking: false) { [self] result in
      completion(settle(result, commands.count, purpose, since: start, judge))
    }
  }

  func sendAndWait(
    _ commands: [RemoteCommand], _ purpose: Purpose, judge: Judge? = nil
  ) throws(RemoteTierError) -> [RemoteReply] {
    guard isAllowed(purpose) else { throw Self.suspended }
    let start = MonotonicClock.nanoseconds
    let result: Result<[RemoteReply], RemoteTierError>
    do throws(RemoteTierError) {
      result = .success(try tier.sendAndWait(commands, timeLimit: timeLimit))
    } catch {
      result = .failure(error)
    }
    return try settle(result, commands.count, purpose, since: start, judge).get()
  }

  nonisolated(nonsending) func send(
    _ commands: [RemoteCommand], _ purpose: Purpose, judge: Judge? = nil
  ) async throws(RemoteTierError) -> [RemoteReply] {
    try await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<[RemoteReply], RemoteTierError>, Never>) in
      send(commands, purpose, judge: judge) { continuation.resume(returning: $0) }
    }.get()
  }

  /// A write, and a read after it, which counts whatever becomes of the write: a server that is full still reads. Where
  /// writes are suspended only the read is sent.
  func sendAndWait(
    _ write: RemoteCommand, thenRead read: RemoteCommand
  ) throws(RemoteTierError) -> (write: Result<RemoteReply, RemoteTierError>, read: RemoteReply) {
    guard isAllowed(.read) else { throw Self.suspended }
    let isWritten = isAllowed(.write)
    let start = MonotonicClock.nanoseconds
    let result: Result<[RemoteReply], RemoteTierError>
    do throws(RemoteTierError) {
      result = .success(try tier.sendAndWait(isWritten ? [write, read] : [read], timeLimit: timeLimit))
    } catch {
      result = .failure(error)
    }
    return try settle(result, isWritten: isWritten, since: start)
  }

  /// The same for tasks.
  nonisolated(nonsending) func send(
    _ write: RemoteCommand, thenRead read: RemoteCommand
  ) async throws(RemoteTierError) -> (write: Result<RemoteReply, RemoteTierError>, read: RemoteReply) {
    guard isAllowed(.read) else { throw Self.suspended }
    let isWritten = isAllowed(.write)
    let start = MonotonicClock.nanoseconds
    let result = await withCheckedContinuation {
      (continuation: CheckedContinuation<Result<[RemoteReply], RemoteTierError>, Never>) in
      tier.send(isWritten ? [write, read] : [read], timeLimit: timeLimit, isBlocking: false) {
        continuation.resume(returning: $0)
      }
    }
    return try settle(result, isWritten: isWritten, since: start)
  }

  /// For what the server may hold back for some time. Takes no part in the breakers, and leaves replies that are
  /// errors.
  func sendBlocking(
    _ commands: [RemoteCommand], upTo wait: Duration,
    completion: @escaping @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void
  ) {
    tier.send(commands, timeLimit: wait + timeLimit, isBlocking: true, completion: completion)
  }

  /// The server has answered a request that was begun at a moment: what was suspended before, since it could not be
  /// reached, is not any more.
  func noteReachable(since start: Int64) {
    let hasClosed = breakers.withLock { breakers in
      let hasRead = breakers.read.noteReachable(since: start)
      return breakers.write.noteReachable(since: start) || hasRead
    }
    if hasClosed { onChange(nil) }
  }

  /// There is a connection to what may be another server.
  func endPauses() {
    let now = MonotonicClock.nanoseconds
    breakers.withLock { breakers in
      breakers.read.endPause(now: now)
      breakers.write.endPause(now: now)
    }
  }

  /// The server may be another one by now.
  func renewConnections() { tier.renewConnections() }

  func close() { tier.close() }
}
