import Foundation
import Platform
import Synchronization

/// One connection that many share: a thread sends commands as they come, without waiting for the replies to those before,
/// and hands out the replies as they arrive.
// @unchecked: `state` is touched with the lock held, `session` and `flying` by the thread alone.
final class RedisPipeline: @unchecked Sendable {
  typealias Completion = @Sendable (Result<[RemoteReply], RemoteTierError>) -> Void

  private struct Request {
    let commands: [RemoteCommand]
    let deadline: Int64
    let completion: Completion
    var replies: [RemoteReply] = []
  }

  private struct State {
    var queue: [Request] = []
    var isRunning = false
    var isClosed = false
    /// Whether the thread waits for the connection, and is to be told of requests.
    var isWaiting = false
  }

  /// How long a thread with nothing to do stays.
  private static let idleTime: Int64 = 10_000_000_000

  private let name: String
  private let configuration: RedisConfiguration
  private let state = Mutex(State())
  /// What is written to the one end wakes the thread, which waits at the other.
  private let bell: (read: Int32, write: Int32)

  private var session: RedisSession?
  private var flying: [Request] = []

  init(_ name: String, _ configuration: RedisConfiguration) throws(RemoteTierError) {
    self.name = name
    self.configuration = configuration
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw RemoteTierError(.failed, "Making a pipe: \(SystemError("pipe", "the server", errno: errno))")
    }
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
    bell = (ends[0], ends[1])
  }

  deinit {
    _ = Platform.close(bell.read)
    _ = Platform.close(bell.write)
  }

  func send(_ commands: [RemoteCommand], timeLimit: Int64, completion: @escaping Completion) {
    let deadline = MonotonicClock.nanoseconds.addingReportingOverflow(timeLimit).partialValue
    let request = Request(commands: commands, deadline: deadline, completion: completion)
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
      for request in requests { request.completion(.failure(RemoteTierError(.unreachable, "\(error)"))) }
    }
  }

  private func ring() {
    var byte: UInt8 = 0
    // A full pipe rings already.
    _ = write(bell.write, &byte, 1)
  }

  func close() {
    state.withLock { $0.isClosed = true }
    ring()
  }

  private static let closed = RemoteTierError(.closed, "The connections were closed.")

  // MARK: The thread

  private func run() {
    var idleSince = MonotonicClock.nanoseconds
    while true {
      let (requests, isClosed) = state.withLock { state in
        defer { state.queue = [] }
        return (state.queue, state.isClosed)
      }
      if isClosed {
        fail(Self.closed, requests)
        session = nil
        return state.withLock { $0.isRunning = false }
      }
      let now = MonotonicClock.nanoseconds
      if !requests.isEmpty || !flying.isEmpty { idleSince = now }
      start(requests)
      exchange()
      if flying.isEmpty, now - idleSince > Self.idleTime {
        let isOver = state.withLock { state in
          if !state.queue.isEmpty { return false }
          state.isRunning = false
          return true
        }
        if isOver {
          // The next thread connects again.
          return session = nil
        }
      }
    }
  }

  private func start(_ requests: [Request]) {
    if requests.isEmpty { return }
    if session == nil, let deadline = requests.map(\.deadline).max() {
      do throws(RemoteTierError) {
        session = try RedisSession(configuration, deadline: deadline)
      } catch {
        return fail(error, requests)
      }
    }
    for request in requests {
      for command in request.commands { session?.append(command) }
      flying.append(request)
    }
  }

  /// Sends and receives what there is, or waits for something to do.
  private func exchange() {
    do throws(RemoteTierError) {
      if let session {
        _ = try session.flush()
        try hand(session)
      }
      let isToWait = state.withLock { state in
        state.isWaiting = state.queue.isEmpty && !state.isClosed
        return state.isWaiting
      }
      guard isToWait else { return }
      try wait()
      state.withLock { $0.isWaiting = false }
      try session?.receive()
      if let session { try hand(session) }
    } catch {
      fail(error, [])
    }
  }

  private func hand(_ session: RedisSession) throws(RemoteTierError) {
    var done = 0
    defer { flying.removeFirst(done) }
    while done < flying.count {
      while flying[done].replies.count < flying[done].commands.count {
        guard let reply = try session.nextReply() else { return }
        flying[done].replies.append(reply)
      }
      flying[done].completion(.success(flying[done].replies))
      done += 1
    }
  }

  private func wait() throws(RemoteTierError) {
    var items = [pollfd(fd: bell.read, events: Int16(POLLIN), revents: 0)]
    if let session {
      let events = POLLIN | (session.hasOutput ? POLLOUT : 0)
      items.append(pollfd(fd: session.descriptor, events: Int16(events), revents: 0))
    }
    let now = MonotonicClock.nanoseconds
    let deadline = flying.map(\.deadline).min() ?? now + Self.idleTime
    let rest = max(0, min(deadline - now, Self.idleTime))
    let count = poll(&items, nfds_t(items.count), Int32(clamping: (rest + 999_999) / 1_000_000))
    if count < 0, errno != EINTR {
      throw RemoteTierError(.unreachable, "Waiting: \(SystemError("poll", "the server", errno: errno))")
    }
    if items[0].revents != 0 {
      var bytes: (UInt64, UInt64) = (0, 0)
      while read(bell.read, &bytes, 16) == 16 {}
    }
    // A reply that came at the last moment is one.
    guard items.count == 1 || items[1].revents == 0,
      let late = flying.first(where: { $0.deadline <= MonotonicClock.nanoseconds })
    else { return }
    _ = late
    // Replies have no names: those that come now could not be told apart from those of later commands.
    throw RemoteTierError(.timedOut, "The server did not reply in time.")
  }

  /// The connection is of no use any more.
  private func fail(_ error: RemoteTierError, _ requests: [Request]) {
    let failed = flying + requests
    flying = []
    session = nil
    for request in failed { request.completion(.failure(error)) }
  }
}
