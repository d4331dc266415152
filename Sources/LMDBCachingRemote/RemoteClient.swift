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
  /// What was counted, but for what waits and the lag.
  let counts = Mutex(RemoteStatistics())

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

  func send(
    _ commands: [RemoteCommand], _ purpose: Purpose, _ caller: LoadCaller, judge: Judge? = nil
  ) async throws(RemoteTierError) -> [RemoteReply] {
    guard isAllowed(purpose) else { throw Self.suspended }
    let start = MonotonicClock.nanoseconds
    return try settle(await result(of: commands, caller), commands.count, purpose, since: start, judge).get()
  }

  /// Sends a write and then a read, as one request. The read counts whatever the write's outcome: a full server still
  /// reads. While writes are suspended, only the read is sent.
  func send(
    _ write: RemoteCommand, thenRead read: RemoteCommand, _ caller: LoadCaller
  ) async throws(RemoteTierError) -> (write: Result<RemoteReply, RemoteTierError>, read: RemoteReply) {
    guard isAllowed(.read) else { throw Self.suspended }
    let isWritten = isAllowed(.write)
    let start = MonotonicClock.nanoseconds
    let result = await self.result(of: isWritten ? [write, read] : [read], caller)
    return try settle(result, isWritten: isWritten, since: start)
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

// What replies and failures say of the server.

extension RemoteClient {
  private static let suspended = RemoteTierError(
    .suspended, "The server failed several times in a row, and is asked again after a pause.")

  private func isAllowed(_ purpose: Purpose) -> Bool {
    let now = MonotonicClock.nanoseconds
    return breakers.withLock { $0[purpose].isAllowed(now: now) }
  }

  /// Makes a failure of the first reply that is an error.
  private func settle(
    _ result: Result<[RemoteReply], RemoteTierError>, _ count: Int, _ purpose: Purpose, since start: Int64,
    _ judge: Judge?
  ) -> Result<[RemoteReply], RemoteTierError> {
    var result = result
    var failure: RemoteTierError?
    switch result {
    case .success(let replies):
      if replies.count != count {
        result = .failure(RemoteTierError(.failed, "There are \(replies.count) replies to \(count) commands."))
      }
      for case .error(let message) in replies {
        result = .failure(RemoteTierError(reply: message))
        break
      }
      if case .failure(let error) = result { failure = error } else { failure = judge?(replies) }
    case .failure(let error): failure = error
    }
    let now = noteRequest(since: start, isFailure: failure != nil)
    if let failure { note(failure, purpose, now: now, since: start) } else { noteSuccess(purpose) }
    return result
  }

  /// Settles a write, if there was one, and the read after it.
  private func settle(
    _ result: Result<[RemoteReply], RemoteTierError>, isWritten: Bool, since start: Int64
  ) throws(RemoteTierError) -> (write: Result<RemoteReply, RemoteTierError>, read: RemoteReply) {
    let count = isWritten ? 2 : 1
    func reply(_ index: Int) -> Result<RemoteReply, RemoteTierError> {
      result.flatMap { replies in
        if replies.count != count {
          return .failure(RemoteTierError(.failed, "There are \(replies.count) replies to \(count) commands."))
        }
        if case .error(let message) = replies[index] { return .failure(RemoteTierError(reply: message)) }
        return .success(replies[index])
      }
    }
    let write = isWritten ? reply(0) : .failure(Self.suspended)
    let read = reply(count - 1)
    let isFailure = if case .failure = read { true } else { false }
    let now = noteRequest(since: start, isFailure: isFailure)
    for (purpose, outcome) in isWritten ? [(Purpose.write, write), (.read, read)] : [(.read, read)] {
      switch outcome {
      case .success: noteSuccess(purpose)
      case .failure(let error): note(error, purpose, now: now, since: start)
      }
    }
    return (write, try read.get())
  }

  /// Counts a request, and returns the time.
  private func noteRequest(since start: Int64, isFailure: Bool) -> Int64 {
    let now = MonotonicClock.nanoseconds
    counts.withLock { counts in
      counts.requests += 1
      if isFailure { counts.failures += 1 }
      counts.requestTime += .nanoseconds(now - start)
    }
    metrics?.noteRequest(nanoseconds: now - start)
    return now
  }

  private func noteSuccess(_ purpose: Purpose) {
    let hasClosed = breakers.withLock { breakers in
      defer { breakers[purpose].noteSuccess() }
      return breakers[purpose].isOpen
    }
    if hasClosed { onChange(nil) }
  }

  private func note(_ error: RemoteTierError, _ purpose: Purpose, now: Int64, since start: Int64) {
    // They say nothing of the server.
    if error.code == .closed || error.code == .busy { return }
    // It answers, and is there.
    if error.code == .failed, purpose == .read || error.isAboutOneRequest { return noteSuccess(purpose) }
    let random = Double.random(in: 0...1)
    let hasOpened = breakers.withLock {
      $0[purpose].noteFailure(error, now: now, since: start, random: random)
    }
    if !hasOpened { return }
    counts.withLock { $0.breakerOpenings += 1 }
    onChange(error)
  }
}

/// When a remote tier that fails is asked again. A value: whoever has it guards it.
///
/// Closed, everything is asked. After several failures in a row it is open: nothing is asked for a while, then one
/// request, whose success closes it, and whose failure makes the next while twice as long. M. Nygard, "Release It!"
/// (2007).
///
/// Requests that were under way together, and fail together, are one failure: what one stall of the server holds up
/// says it once.
struct CircuitBreaker: Sendable {
  private enum State: Sendable {
    case closed(failures: Int)
    /// Until then, in nanoseconds of the monotonic clock.
    case open(until: Int64)
    /// One request is under way, since then.
    case trying(since: Int64)
  }

  private let settings: BreakerSettings
  private var state = State.closed(failures: 0)
  private var pause: Int64
  /// When the last failure was noted.
  private var lastFailure = Int64.min
  /// What it was; `nil` while it is closed.
  private(set) var failure: RemoteTierError?

  init(_ settings: BreakerSettings) {
    self.settings = settings
    pause = settings.firstPause.clampedNanoseconds
  }

  /// Whether requests failed, and none has succeeded since.
  var isOpen: Bool { if case .closed = state { false } else { true } }

  /// Whether a request may be made. The one that is let through when the pause is over has to be followed by
  /// ``noteSuccess()`` or ``noteFailure(_:now:since:random:)``; if it is not, another one is let through after as long
  /// a pause.
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
    pause = settings.firstPause.clampedNanoseconds
  }

  /// - Parameters:
  ///   - start: When the request was begun.
  ///   - random: From 0 to 1: by how much of its half a pause is shorter, so that a fleet does not come back at one
  ///     moment.
  /// - Returns: Whether it is open now and was not before.
  mutating func noteFailure(_ error: RemoteTierError, now: Int64, since start: Int64, random: Double) -> Bool {
    switch state {
    case .closed where start < lastFailure: return false
    case .closed(let failures) where failures + 1 < settings.failures:
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
      pause = min(pause.multipliedClamped(by: 2), settings.longestPause.clampedNanoseconds)
      state = .open(until: now.addingClamped(jittered(random)))
      (lastFailure, failure) = (now, error)
      return false
    }
  }

  /// The server can be reached, as somebody else has seen: if that was the trouble it is over.
  ///
  /// - Parameter start: When the request was begun that was answered.
  /// - Returns: Whether it is closed now and was not before.
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
