import Dispatch
import Foundation
import LMDBCaching
import Platform
import Synchronization

/// Reads the stream of the fleet's changes, all the time and without gaps.
///
/// After a disconnection it reads on after the last change that it has seen, if the server still has that one, and has
/// not been emptied: the server forgets changes from the oldest on, so nothing after it is missing then. If not,
/// changes may have been missed, and ``DistributedCache/didLoseTrack()`` says so. That is so at the beginning, too.
///
/// There is *touch* while it has read everything that there was: not before it has caught up with what the stream held
/// when it connected, and not while it falls behind by more than a reply may take.
// Sendable: `sink` is set before it starts.
final class ChangeFollower: @unchecked Sendable {
  /// How long the server holds its reply back when there is nothing new.
  static let wait = Duration.seconds(1)
  private static let firstPause: Int64 = 20_000_000
  private static let longestPause: Int64 = 1_000_000_000

  private struct State {
    var reader: StreamReader
    var isStopped = false
    var touch = ChangeTouch.unheard(since: nil, nil)
    /// When the last request was made whose reply said that nothing was left to read.
    var lastHeard: Int64?
    /// The stream has to have been read up to there before there is touch.
    var target: RemoteRevision?
    /// When the last reply came.
    var asOf: Int64 = 0
    var pause = ChangeFollower.firstPause
  }

  private let client: RemoteClient
  weak var sink: DistributedCache?
  private let queue = DispatchQueue(label: "LMDBCachingRemote.changes", qos: .userInitiated)
  private let state: Mutex<State>
  /// How far it may be behind and be in touch.
  private let longestLag: Int64

  init(_ client: RemoteClient, _ names: RemoteNames) {
    self.client = client
    state = Mutex(State(reader: StreamReader(names)))
    longestLag = (Self.wait + client.timeLimit).clampedNanoseconds
  }

  func start() { queue.async { [self] in connect() } }

  func stop() { state.withLock { $0.isStopped = true } }

  var touch: ChangeTouch { state.withLock { $0.touch } }

  /// For how long changes may have gone unnoticed, in nanoseconds: since the last one was heard of while there is no
  /// touch, and by how much the newest one known is later than the last one that was followed.
  var lag: Int64 {
    let now = MonotonicClock.nanoseconds
    return state.withLock { state in
      if case .unheard(let start?, _) = state.touch { return now - start }
      return Self.lag(state, now: now)
    }
  }

  private static func lag(_ state: State, now: Int64) -> Int64 {
    state.reader.isAtEnd ? 0 : state.reader.distance.addingClamped(max(0, now - state.asOf))
  }

  /// Something is stored here that a change of this revision made.
  func note(_ revision: RemoteRevision) { state.withLock { $0.reader.note(revision) } }

  func note(_ revisions: [RemoteRevision]) {
    state.withLock { state in for revision in revisions { state.reader.note(revision) } }
  }

  // MARK: Connecting

  private func connect() {
    guard sink != nil else { return }
    let commands = state.withLock { $0.isStopped ? nil : $0.reader.connectCommands() }
    guard let commands else { return }
    ask(commands) { [self] (replies, start) throws(RemoteTierError) in try didConnect(replies, since: start) }
  }

  private func ask(
    _ commands: [RemoteCommand], upTo wait: Duration = .zero,
    _ body: @escaping @Sendable (_ replies: [RemoteReply], _ start: Int64) throws(RemoteTierError) -> Void
  ) {
    let start = MonotonicClock.nanoseconds
    client.sendBlocking(commands, upTo: wait) { [self] result in
      queue.async { [self] in
        do throws(RemoteTierError) { try body(try result.get(), start) } catch { fail(error) }
      }
    }
  }

  private func didConnect(_ replies: [RemoteReply], since start: Int64) throws(RemoteTierError) {
    let (connection, command) = try state.withLock {
      (state) throws(RemoteTierError) -> (StreamReader.Connection, RemoteCommand?) in
      let connection = try state.reader.didConnect(replies)
      if case .connected(let hasGap) = connection {
        state.target = hasGap ? nil : state.reader.newest
        state.asOf = MonotonicClock.nanoseconds
      }
      return (connection, state.reader.command(for: connection))
    }
    guard let command else {
      sink?.didConnect()
      if connection == .connected(hasGap: true) { sink?.didLoseTrack() }
      hear(isComplete: false, since: start)
      return follow()
    }
    ask([command]) { [self] (replies, _) throws(RemoteTierError) in
      if case .error(let message)? = replies.first { throw RemoteTierError(reply: message) }
      connect()
    }
  }

  // MARK: Following

  private func follow() {
    guard sink != nil else { return }
    let commands = state.withLock { $0.isStopped ? nil : $0.reader.readCommands(wait: Self.wait) }
    guard let commands else { return }
    ask(commands, upTo: Self.wait) { [self] (replies, start) throws(RemoteTierError) in
      try read(replies, since: start)
      follow()
    }
  }

  private func read(_ replies: [RemoteReply], since start: Int64) throws(RemoteTierError) {
    guard let sink else { return }
    let page = try state.withLock { (state) throws(RemoteTierError) -> StreamReader.Page in
      defer { state.asOf = MonotonicClock.nanoseconds }
      return try state.reader.didRead(replies)
    }
    var hasGap = false
    for (revision, change) in page.changes {
      if case .unknown = change { hasGap = true }
      sink.apply(change, revision: revision)
      if state.withLock({ !$0.reader.didFollow(revision) }) { hasGap = true }
    }
    let (isLost, error) = state.withLock { $0.reader.didFollow(page, hasGap: hasGap) }
    if isLost { sink.didLoseTrack() }
    if let error { throw error }
    hear(isComplete: page.isComplete, since: start)
  }

  // MARK: Touch

  /// A reply came, and what it told of was followed.
  ///
  /// - Parameter isComplete: Whether that was everything that there was.
  private func hear(isComplete: Bool, since start: Int64) {
    let now = MonotonicClock.nanoseconds
    client.noteReachable(since: start)
    let change = state.withLock { state -> ChangeTouch? in
      state.pause = Self.firstPause
      if isComplete || state.reader.isAtEnd { state.lastHeard = start }
      let old = state.touch
      if let target = state.target, state.reader.position >= target || state.reader.isAtEnd { state.target = nil }
      if Self.lag(state, now: now) > longestLag {
        // What falls behind has to catch up first.
        state.target = state.reader.newest
        if old == .heard {
          state.touch = .unheard(
            since: state.lastHeard, RemoteTierError(.timedOut, "Changes are made faster than they are followed."))
        }
      } else if state.target == nil {
        state.touch = .heard
      }
      return state.touch == old ? nil : state.touch
    }
    if let change { sink?.didChangeTouch(change) }
  }

  private func fail(_ error: RemoteTierError) {
    guard let sink else { return }
    let (isStopped, pause, touch) = state.withLock { state in
      state.touch = .unheard(since: state.lastHeard, error)
      defer { state.pause = min(state.pause * 2, Self.longestPause) }
      return (state.isStopped, state.pause, state.touch)
    }
    if isStopped { return }
    sink.didChangeTouch(touch)
    // The address may lead to another server by now.
    client.renewConnections()
    let jittered = pause - Int64(Double(pause) / 2 * Double.random(in: 0...1))
    queue.asyncAfter(deadline: .now() + .nanoseconds(Int(jittered))) { [self] in connect() }
  }
}

/// Whether the fleet's changes are heard of.
enum ChangeTouch: Sendable, Equatable {
  case heard
  /// Why not, and since when, in nanoseconds of the monotonic clock: all changes before were heard of. Without a time
  /// none were ever heard of.
  case unheard(since: Int64?, RemoteTierError?)
}
