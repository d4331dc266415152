import Dispatch
import LMDBCaching
import Platform
import Synchronization

/// Sends requests unless the server keeps failing. Reads and writes have a breaker each: a full server, or a replica,
/// still reads.
final class RemoteClient: Sendable {
  enum Purpose: CaseIterable, Sendable { case read, write }

  private let tier: any RemoteTier
  let timeLimit: Duration
  private let breakers = Mutex<[Purpose: CircuitBreaker]>([.read: CircuitBreaker(), .write: CircuitBreaker()])
  let metrics: RemoteMetrics?
  let onChange: @Sendable (RemoteTierError?) -> Void
  let counts = Mutex(RemoteStatistics())

  /// - Parameter onChange: Called when a breaker opens, with the failure, and when it closes.
  init(
    _ tier: any RemoteTier, timeLimit: Duration, metrics: RemoteMetrics? = nil,
    onChange: @escaping @Sendable (RemoteTierError?) -> Void
  ) {
    self.tier = tier
    self.timeLimit = timeLimit
    self.metrics = metrics
    self.onChange = onChange
  }

  /// The failure that suspends requests, if any.
  func suspension(of purpose: Purpose) -> RemoteTierError? { breakers.withLock { $0[purpose]!.failure } }

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

  func send(
    _ commands: [RemoteCommand], _ purpose: Purpose, _ caller: LoadCaller, judge: Judge? = nil
  ) async throws(RemoteTierError) -> [RemoteReply] {
    guard isAllowed(purpose) else { throw Self.suspended }
    let start = MonotonicClock.nanoseconds
    return try settle(await result(of: commands, caller), commands.count, purpose, since: start, judge).get()
  }

  /// Sends a write and a read as one request. A full server still reads; while writes are suspended, only the read is
  /// sent.
  func send(
    _ write: RemoteCommand, thenRead read: RemoteCommand, _ caller: LoadCaller
  ) async throws(RemoteTierError) -> (write: Result<RemoteReply, RemoteTierError>, read: RemoteReply) {
    guard isAllowed(.read) else { throw Self.suspended }
    let isWritten = isAllowed(.write)
    let start = MonotonicClock.nanoseconds
    let result = complete(await self.result(of: isWritten ? [write, read] : [read], caller), isWritten ? 2 : 1)
    func outcome(_ index: Int) -> Result<RemoteReply, RemoteTierError> {
      result.flatMap { replies in
        if case .error(let message) = replies[index] { return .failure(RemoteTierError(reply: message)) }
        return .success(replies[index])
      }
    }
    let written = isWritten ? outcome(0) : .failure(Self.suspended)
    let found = outcome(isWritten ? 1 : 0)
    let now = noteRequest(since: start, isFailure: found.failure != nil)
    if isWritten { note(written.failure, .write, now: now, since: start) }
    note(found.failure, .read, now: now, since: start)
    return (written, try found.get())
  }

  private func result(
    of commands: [RemoteCommand], _ caller: LoadCaller
  ) async -> Result<[RemoteReply], RemoteTierError> {
    if caller.isThread {
      do throws(RemoteTierError) {
        return .success(try tier.sendAndWait(commands, timeLimit: timeLimit))
      } catch {
        return .failure(error)
      }
    }
    return await withCheckedContinuation { continuation in
      tier.send(commands, timeLimit: timeLimit, isBlocking: false) { continuation.resume(returning: $0) }
    }
  }

  /// For replies that the server holds back. Ignores the breakers, and returns error replies.
  func sendBlocking(
    _ commands: [RemoteCommand], upTo wait: Duration,
    completion: @escaping @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void
  ) {
    tier.send(commands, timeLimit: wait + timeLimit, isBlocking: true, completion: completion)
  }

  /// The server has answered a request begun at `start`: ends suspensions of an unreachable one.
  func noteReachable(since start: Int64) {
    let closed = breakers.withLock { breakers in
      Purpose.allCases.filter { breakers[$0]!.noteReachable(since: start) }
    }
    if !closed.isEmpty { onChange(nil) }
  }

  func endPauses() {
    let now = MonotonicClock.nanoseconds
    breakers.withLock { breakers in Purpose.allCases.forEach { breakers[$0]!.endPause(now: now) } }
  }

  func renewConnections() { tier.renewConnections() }

  func close() { tier.close() }

  private static let suspended = RemoteTierError(
    .suspended, "The server failed several times in a row, and is asked again after a pause.")

  private func isAllowed(_ purpose: Purpose) -> Bool {
    let now = MonotonicClock.nanoseconds
    return breakers.withLock { $0[purpose]!.isAllowed(now: now) }
  }

  private func complete(
    _ result: Result<[RemoteReply], RemoteTierError>, _ count: Int
  ) -> Result<[RemoteReply], RemoteTierError> {
    result.flatMap { replies in
      if replies.count == count { return result }
      return .failure(RemoteTierError(.failed, "There are \(replies.count) replies to \(count) commands."))
    }
  }

  private func settle(
    _ result: Result<[RemoteReply], RemoteTierError>, _ count: Int, _ purpose: Purpose, since start: Int64,
    _ judge: Judge?
  ) -> Result<[RemoteReply], RemoteTierError> {
    let result = complete(result, count).flatMap { replies -> Result<[RemoteReply], RemoteTierError> in
      for case .error(let message) in replies { return .failure(RemoteTierError(reply: message)) }
      return .success(replies)
    }
    let failure: RemoteTierError? =
      switch result {
      case .success(let replies): judge?(replies)
      case .failure(let error): error
      }
    let now = noteRequest(since: start, isFailure: failure != nil)
    note(failure, purpose, now: now, since: start)
    return result
  }

  private func noteRequest(since start: Int64, isFailure: Bool) -> Int64 {
    let now = MonotonicClock.nanoseconds
    counts.withLock { counts in
      counts.requests += 1
      if isFailure { counts.failures += 1 }
    }
    metrics?.noteRequest(nanoseconds: now - start)
    return now
  }

  private func note(_ failure: RemoteTierError?, _ purpose: Purpose, now: Int64, since start: Int64) {
    // These say nothing about the server.
    if failure?.code == .closed || failure?.code == .busy { return }
    // A server that refuses one request is there.
    guard let failure, failure.code != .failed || purpose == .write && !failure.isAboutOneRequest else {
      let hasClosed = breakers.withLock { breakers in
        defer { breakers[purpose]!.noteSuccess() }
        return breakers[purpose]!.isOpen
      }
      if hasClosed { onChange(nil) }
      return
    }
    let random = Double.random(in: 0...1)
    let hasOpened = breakers.withLock { $0[purpose]!.noteFailure(failure, now: now, since: start, random: random) }
    if !hasOpened { return }
    counts.withLock { $0.breakerOpenings += 1 }
    onChange(failure)
  }
}

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

/// Suspends requests to a failing server (M. Nygard, "Release It!", 2007).
///
/// Opens after 5 failures in a row. After a pause one request is tried: its success closes the breaker, its failure
/// doubles the pause. Concurrent requests that fail together count as one failure.
struct CircuitBreaker: Sendable {
  private enum State: Sendable {
    case closed(failures: Int)
    case open(until: Int64)
    case trying(since: Int64)
  }

  private static let firstPause: Int64 = 100_000_000
  private static let longestPause: Int64 = 5_000_000_000

  private var state = State.closed(failures: 0)
  private var pause = firstPause
  private var lastFailure = Int64.min
  private(set) var failure: RemoteTierError?

  /// Whether requests failed, and none has succeeded since.
  var isOpen: Bool { if case .closed = state { false } else { true } }

  /// Whether a request may be made. A trial whose outcome is never noted is repeated after an equal pause.
  mutating func isAllowed(now: Int64) -> Bool {
    switch state {
    case .closed: return true
    case .open(let end):
      if now < end { return false }
    case .trying(let start):
      if now - start < pause { return false }
    }
    state = .trying(since: now)
    return true
  }

  mutating func noteSuccess() {
    state = .closed(failures: 0)
    failure = nil
    pause = Self.firstPause
  }

  /// - Parameter random: From 0 to 1: shortens the pause by up to a half, so that a fleet does not return at one
  ///   moment.
  /// - Returns: Whether it has opened.
  mutating func noteFailure(_ error: RemoteTierError, now: Int64, since start: Int64, random: Double) -> Bool {
    switch state {
    case .closed where start < lastFailure: return false
    case .closed(let failures) where failures + 1 < 5:
      state = .closed(failures: failures + 1)
      lastFailure = now
      return false
    case .closed:
      state = .open(until: now.addingClamped(jittered(random)))
      (lastFailure, failure) = (now, error)
      return true
    case .open: return false
    case .trying(let trial):
      if start < trial { return false }
      pause = min(pause * 2, Self.longestPause)
      state = .open(until: now.addingClamped(jittered(random)))
      (lastFailure, failure) = (now, error)
      return false
    }
  }

  /// The server has answered another request, begun at `start`. Returns whether this closes the breaker.
  mutating func noteReachable(since start: Int64) -> Bool {
    guard isOpen, start >= lastFailure,
      failure.map({ $0.code == .unreachable || $0.code == .timedOut }) ?? true
    else { return false }
    noteSuccess()
    return true
  }

  /// The server may be another one: it is tried at once.
  mutating func endPause(now: Int64) { if case .open(let end) = state { state = .open(until: min(end, now)) } }

  private func jittered(_ random: Double) -> Int64 { pause - Int64(Double(pause) / 2 * random) }
}
