import Foundation
import Platform
import Synchronization

/// One shared connection, whose thread sends commands without waiting for earlier replies.
// @unchecked: `state` is accessed with its lock held, the variables after `bell` only by the thread.
final class RedisPipeline: @unchecked Sendable {
  typealias Completion = @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void

  private struct State {
    var queue: [PipelineRequest] = []
    var arrival: Result<RedisSession, RemoteTierError>?
    var isRunning = false
    var isClosed = false
    /// Whether the thread must be woken for new requests.
    var isWaiting = false
  }

  private let name: String
  private let connector: RedisConnector
  /// How long an idle thread stays, in nanoseconds.
  private let idleTime: Int64
  private let state = Mutex(State())
  /// A pipe: writing to one end wakes the thread, which polls the other.
  private let bell: (read: Int32, write: Int32)

  private var session: RedisSession?
  private var isConnecting = false
  /// Requests without a connection.
  private var waiting: [PipelineRequest] = []
  /// Sent requests, in order. Some are late and abandoned.
  private var flying: [PipelineRequest] = []
  /// No request or connection expires earlier.
  private var nextDeadline = Int64.max

  init(_ name: String, _ connector: RedisConnector, idleTime: Int64 = 10_000_000_000) throws(RemoteTierError) {
    self.name = name
    self.connector = connector
    self.idleTime = idleTime
    var ends: [Int32] = [-1, -1]
    let isMade = unsafe pipe(&ends) == 0
    bell = (ends[0], ends[1])
    guard isMade, ends.allSatisfy({ fcntl($0, F_SETFD, FD_CLOEXEC) == 0 && fcntl($0, F_SETFL, O_NONBLOCK) == 0 }) else {
      throw RemoteTierError(.failed, "\(SystemError("pipe", "the server", errno: errno))")
    }
  }

  deinit {
    _ = Platform.close(bell.read)
    _ = Platform.close(bell.write)
  }

  func send(_ commands: [RemoteCommand], timeLimit: Int64, completion: @escaping Completion) {
    let request = PipelineRequest(commands, timeLimit: timeLimit, completion)
    let (isClosed, isToStart, isToRing) = state.withLock { state in
      if state.isClosed { return (true, false, false) }
      state.queue.append(request)
      defer { state.isWaiting = false }
      let isToStart = !state.isRunning
      state.isRunning = true
      return (false, isToStart, state.isWaiting)
    }
    if isClosed { return completion(.failure(.tierClosed)) }
    if isToRing { ring() }
    guard isToStart else { return }
    do throws(SystemError) {
      try PlatformThread.start(name: name) { [self] in run() }
    } catch {
      let requests = state.withLock { state in
        state.isRunning = false
        defer { state.queue = [] }
        return state.queue
      }
      for request in requests { request.completion?(.failure(RemoteTierError(.unreachable, "\(error)"))) }
    }
  }

  func close() {
    let arrival = state.withLock { state -> Result<RedisSession, RemoteTierError>? in
      state.isClosed = true
      defer { state.arrival = nil }
      return state.arrival
    }
    // An unused connection ends here, without the lock.
    withExtendedLifetime(arrival) {}
    ring()
  }

  private func ring() {
    var byte: UInt8 = 0
    // A full pipe already wakes the thread.
    _ = unsafe write(bell.write, &byte, 1)
  }

  // MARK: The thread

  private func run() {
    var idleSince = MonotonicClock.nanoseconds
    while true {
      let (requests, arrival, isClosed) = state.withLock { state in
        defer {
          state.queue.removeAll(keepingCapacity: true)
          state.arrival = nil
        }
        return (state.queue, state.arrival, state.isClosed)
      }
      if isClosed {
        disconnect(.tierClosed)
        for request in requests { request.completion?(.failure(.tierClosed)) }
        return state.withLock { $0.isRunning = false }
      }
      if let arrival { didConnect(arrival) }
      for request in requests { nextDeadline = min(nextDeadline, request.deadline) }
      waiting += requests
      startWaiting()
      exchange()
      if waiting.isEmpty, flying.isEmpty, !isConnecting {
        if requests.isEmpty {
          if MonotonicClock.nanoseconds - idleSince > idleTime, endIfIdle() { return }
        } else {
          idleSince = MonotonicClock.nanoseconds
        }
      }
    }
  }

  /// - Returns: Whether the thread ends; the next request starts and connects another one.
  private func endIfIdle() -> Bool {
    // Released first: once it counts as ended, the thread touches nothing.
    session = nil
    return state.withLock { state in
      if !state.queue.isEmpty || state.isClosed { return false }
      state.isRunning = false
      return true
    }
  }

  private func didConnect(_ result: Result<RedisSession, RemoteTierError>) {
    isConnecting = false
    switch result {
    case .success(let session): if connector.isCurrent(session) { self.session = session }
    case .failure(let error):
      let failed = waiting
      waiting = []
      for request in failed { request.completion?(.failure(error)) }
    }
  }

  /// Passes waiting requests to the connection, or requests one.
  private func startWaiting() {
    if let session, !connector.isCurrent(session) {
      guard flying.allSatisfy(\.isAbandoned) else { return }
      disconnect(.late)
    }
    if waiting.isEmpty { return }
    if let session {
      for index in waiting.indices {
        for command in waiting[index].commands { session.append(command) }
        waiting[index].commands = []
      }
      flying += waiting
      waiting.removeAll(keepingCapacity: true)
    } else if !isConnecting {
      isConnecting = true
      connector.connect { [weak self] result in
        guard let self else { return }
        // After closing, an arriving connection is dropped.
        state.withLock { if !$0.isClosed { $0.arrival = result } }
        ring()
      }
    }
  }

  /// Sends and receives, or waits for work.
  private func exchange() {
    do throws(RemoteTierError) {
      if let session { _ = try session.flush() }
      let isToWait = state.withLock { state in
        state.isWaiting = state.queue.isEmpty && state.arrival == nil && !state.isClosed
        return state.isWaiting
      }
      let hasArrivals = try wait(isToWait)
      if isToWait { state.withLock { $0.isWaiting = false } }
      if hasArrivals, let session {
        try session.receive()
        try hand(session)
      }
      try expire()
    } catch {
      disconnect(error)
    }
  }

  private func hand(_ session: RedisSession) throws(RemoteTierError) {
    var done = 0
    defer { flying.removeFirst(done) }
    while done < flying.count {
      while !flying[done].isAnswered {
        guard let reply = try session.nextReply() else { return }
        connector.check(reply)
        flying[done].replies.append(reply)
      }
      flying[done].completion?(.success(flying[done].replies))
      flying[done].completion = nil
      done += 1
    }
  }

  /// - Returns: Whether anything has arrived.
  private func wait(_ isToWait: Bool) throws(RemoteTierError) -> Bool {
    var items = [pollfd(fd: bell.read, events: Int16(POLLIN), revents: 0)]
    if let session {
      let events = POLLIN | (session.hasOutput ? POLLOUT : 0)
      items.append(pollfd(fd: session.descriptor, events: Int16(events), revents: 0))
    }
    let rest = isToWait ? min(nextDeadline - MonotonicClock.nanoseconds, idleTime) : 0
    let count = pollDescriptors(&items, nanoseconds: rest)
    if count < 0, errno != EINTR {
      throw RemoteTierError(.unreachable, "Waiting: \(SystemError("poll", "the server", errno: errno))")
    }
    if items[0].revents != 0 {
      var bytes: (UInt64, UInt64) = (0, 0)
      while unsafe read(bell.read, &bytes, 16) == 16 {}
    }
    return items.count > 1 && Int32(items[1].revents) & ~POLLOUT != 0
  }

  // MARK: Failures

  /// Times out late requests. Replies carry no identifiers, so the connection continues until the late ones arrive. If
  /// they are late again by as much, it is given up.
  private func expire() throws(RemoteTierError) {
    let now = MonotonicClock.nanoseconds
    if now < nextDeadline { return }
    var next = Int64.max
    // An earlier request's time must be over before the connection is given up for a later one.
    var bound = Int64.min
    for index in flying.indices {
      if !flying[index].isAbandoned, flying[index].deadline <= now { flying[index].abandon() }
      bound = max(bound, flying[index].isAbandoned ? flying[index].end : flying[index].deadline)
      next = min(next, flying[index].isAbandoned ? bound : flying[index].deadline)
    }
    for request in waiting where request.deadline <= now { request.completion?(.failure(.late)) }
    waiting.removeAll { $0.deadline <= now }
    for request in waiting { next = min(next, request.deadline) }
    nextDeadline = next
    if let first = flying.first, first.isAbandoned, first.end <= now { throw .late }
  }

  /// Fails all requests on the connection.
  private func disconnect(_ error: RemoteTierError) {
    var replies = error.code == .unreachable ? (session?.lastWords() ?? [])[...] : []
    session = nil
    let failed = flying
    flying = []
    for var request in failed {
      while !request.isAnswered, let reply = replies.popFirst() { request.replies.append(reply) }
      request.completion?(RedisSession.result(request.replies, of: request.count, error))
    }
    guard error.code == .closed else { return }
    for request in waiting { request.completion?(.failure(error)) }
    waiting = []
  }
}

/// Commands sent together, and their replies so far.
struct PipelineRequest: Sendable {
  /// Empty once sent.
  var commands: [RemoteCommand]
  /// Monotonic nanoseconds.
  let deadline: Int64
  /// The time to give up a connection that has not answered.
  let end: Int64
  /// `nil` once abandoned.
  var completion: RedisPipeline.Completion?
  var replies: [RemoteReply] = []
  let count: Int

  /// A server that stalls for less keeps its connections: replies behind a late one may be in time.
  private static let shortestGrace: Int64 = 1_000_000_000

  init(_ commands: [RemoteCommand], timeLimit: Int64, _ completion: @escaping RedisPipeline.Completion) {
    self.commands = commands
    self.completion = completion
    count = commands.count
    deadline = MonotonicClock.nanoseconds.addingClamped(timeLimit)
    end = deadline.addingClamped(max(timeLimit, Self.shortestGrace))
  }

  var isAnswered: Bool { replies.count == count }
  var isAbandoned: Bool { completion == nil }

  mutating func abandon() {
    completion?(.failure(.late))
    completion = nil
  }
}

extension RemoteTierError {
  static let tierClosed = RemoteTierError(.closed, "The connections were closed.")
  static let late = RemoteTierError(.timedOut, "The server did not reply in time.")
}
