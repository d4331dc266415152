import Foundation
import Platform
import Synchronization

/// One connection that many share: a thread sends commands as they come, without waiting for the replies to those before,
/// and hands out the replies as they arrive.
// @unchecked: `state` is touched with its lock held, what follows `bell` by the thread alone.
final class RedisPipeline: @unchecked Sendable {
  typealias Completion = @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void

  private struct State {
    var queue: [PipelineRequest] = []
    /// A connection that was made, or could not be.
    var arrival: Result<RedisSession, RemoteTierError>?
    /// Whether the connection is not to be used for what comes.
    var isStale = false
    var isRunning = false
    var isClosed = false
    /// Whether the thread waits for the connection, and is to be told of requests.
    var isWaiting = false
  }

  private let name: String
  private let connector: RedisConnector
  /// How long a thread with nothing to do stays, in nanoseconds.
  private let idleTime: Int64
  private let onForeign: @Sendable (String) -> Void
  private let state = Mutex(State())
  /// What is written to the one end wakes the thread, which waits at the other.
  private let bell: (read: Int32, write: Int32)

  private var session: RedisSession?
  private var isConnecting = false
  private var isStale = false
  /// Those that wait for a connection.
  private var waiting: [PipelineRequest] = []
  /// Those that were sent, in order. Some are late, and nobody waits for their replies any more.
  private var flying: [PipelineRequest] = []
  /// No request is late, and no connection given up, before then.
  private var nextDeadline = Int64.max

  /// - Parameter onForeign: Called when the server says that it is not, or no longer, the one that the fleet is on.
  init(
    _ name: String, _ connector: RedisConnector, idleTime: Int64 = 10_000_000_000,
    onForeign: @escaping @Sendable (String) -> Void
  ) throws(RemoteTierError) {
    self.name = name
    self.connector = connector
    self.idleTime = idleTime
    self.onForeign = onForeign
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw RemoteTierError(.failed, "Making a pipe: \(SystemError("pipe", "the server", errno: errno))")
    }
    bell = (ends[0], ends[1])
    for end in ends where fcntl(end, F_SETFD, FD_CLOEXEC) != 0 || fcntl(end, F_SETFL, O_NONBLOCK) != 0 {
      throw RemoteTierError(.failed, "Making a pipe: \(SystemError("fcntl", "the server", errno: errno))")
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
    if isClosed { return completion(.failure(Self.closed)) }
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

  /// What is sent from now on goes over a new connection.
  func renew() {
    state.withLock { $0.isStale = true }
    ring()
  }

  func close() {
    let arrival = state.withLock { state -> Result<RedisSession, RemoteTierError>? in
      state.isClosed = true
      defer { state.arrival = nil }
      return state.arrival
    }
    // A connection that nobody has taken ends here, without the lock.
    withExtendedLifetime(arrival) {}
    ring()
  }

  private func ring() {
    var byte: UInt8 = 0
    // A full pipe rings already.
    _ = write(bell.write, &byte, 1)
  }

  private static let closed = RemoteTierError(.closed, "The connections were closed.")
  private static let late = RemoteTierError(.timedOut, "The server did not reply in time.")

  // MARK: The thread

  private func run() {
    var idleSince = MonotonicClock.nanoseconds
    while true {
      let (requests, arrival, isClosed) = state.withLock { state in
        defer {
          state.queue.removeAll(keepingCapacity: true)
          state.arrival = nil
        }
        if state.isStale {
          state.isStale = false
          isStale = true
        }
        return (state.queue, state.arrival, state.isClosed)
      }
      if isClosed {
        disconnect(Self.closed)
        for request in requests { request.completion?(.failure(Self.closed)) }
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

  /// - Returns: Whether the thread is over: whoever sends something starts another one, which connects again.
  private func endIfIdle() -> Bool {
    // First: from the moment on in which it is over it touches nothing.
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
    case .success(let session): if !isStale { self.session = session }
    case .failure(let error):
      let failed = waiting
      waiting = []
      for request in failed { request.completion?(.failure(error)) }
    }
  }

  /// Hands what waits to the connection, or has one made.
  private func startWaiting() {
    if isStale, flying.allSatisfy(\.isAbandoned) {
      // The connection that is being made was begun before, too.
      if !isConnecting { isStale = false }
      if session != nil { disconnect(Self.late) }
    }
    guard !waiting.isEmpty, !isStale else { return }
    if let session {
      for index in waiting.indices {
        for command in waiting[index].commands { session.append(command) }
        waiting[index].didSend()
      }
      flying += waiting
      waiting.removeAll(keepingCapacity: true)
    } else if !isConnecting {
      isConnecting = true
      connector.connect { [weak self] result in
        guard let self else { return }
        // Nobody takes it once this is closed: it ends.
        state.withLock { if !$0.isClosed { $0.arrival = result } }
        ring()
      }
    }
  }

  /// Sends and receives what there is, or waits for something to do.
  private func exchange() {
    do throws(RemoteTierError) {
      if let session { _ = try session.flush() }
      let isToWait = state.withLock { state in
        state.isWaiting = state.queue.isEmpty && state.arrival == nil && !state.isClosed && !state.isStale
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
        if case .error(let message) = reply, RemoteTierError.isOfAnotherServer(reply: message) { onForeign(message) }
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
    let rest = isToWait ? max(0, min(nextDeadline - MonotonicClock.nanoseconds, idleTime)) : 0
    let count = poll(&items, nfds_t(items.count), Int32(clamping: (rest + 999_999) / 1_000_000))
    if count < 0, errno != EINTR {
      throw RemoteTierError(.unreachable, "Waiting: \(SystemError("poll", "the server", errno: errno))")
    }
    if items[0].revents != 0 {
      var bytes: (UInt64, UInt64) = (0, 0)
      while read(bell.read, &bytes, 16) == 16 {}
    }
    return items.count > 1 && Int32(items[1].revents) & ~POLLOUT != 0
  }

  // MARK: Failures

  /// Tells those who have waited long enough. Replies have no names, so that the connection has to go on until those that
  /// are late are there: others are behind them. If they are late again by as much, it is of no use.
  private func expire() throws(RemoteTierError) {
    let now = MonotonicClock.nanoseconds
    if now < nextDeadline { return }
    var next = Int64.max
    // A connection is not given up for one of them before those ahead of it have had their time.
    var bound = Int64.min
    for index in flying.indices {
      if !flying[index].isAbandoned, flying[index].deadline <= now { flying[index].abandon(Self.late) }
      bound = max(bound, flying[index].isAbandoned ? flying[index].end : flying[index].deadline)
      next = min(next, flying[index].isAbandoned ? bound : flying[index].deadline)
    }
    for request in waiting where request.deadline <= now { request.completion?(.failure(Self.late)) }
    waiting.removeAll { $0.deadline <= now }
    for request in waiting { next = min(next, request.deadline) }
    nextDeadline = next
    if let first = flying.first, first.isAbandoned, first.end <= now { throw Self.late }
  }

  /// The connection is of no use any more.
  private func disconnect(_ error: RemoteTierError) {
    var replies = error.code == .unreachable ? (session?.lastWords() ?? [])[...] : []
    session = nil
    let failed = flying
    flying = []
    for var request in failed {
      while !request.isAnswered, let reply = replies.popFirst() { request.replies.append(reply) }
      if request.isAnswered {
        request.completion?(.success(request.replies))
      } else if case .error(let message)? = request.replies.last {
        // The server ends the connection after an error of the protocol, whatever else was sent.
        request.completion?(.failure(RemoteTierError(reply: message)))
      } else {
        request.completion?(.failure(error))
      }
    }
    guard error.code == .closed else { return }
    for request in waiting { request.completion?(.failure(error)) }
    waiting = []
  }
}
