import Dispatch
import Foundation
import LMDBCaching
import Platform
import Synchronization

/// Reads the stream of the fleet's changes without gaps.
///
/// After a disconnection it reads on after the last change seen, if the server still has that one: the server forgets
/// the oldest changes first. If not, it calls ``DistributedCache/didLoseTrack()``, as at the beginning. The machine is
/// *in touch* while it has read all changes, and falls behind by no more than a reply may take.
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

  /// How long changes may have gone unnoticed, in nanoseconds.
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

  func note(_ revision: RemoteRevision) { state.withLock { $0.reader.note(revision) } }

  private func connect() {
    guard sink != nil, let commands = state.withLock({ $0.isStopped ? nil : $0.reader.connectCommands() }) else {
      return
    }
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
    let connection = try state.withLock { (state) throws(RemoteTierError) in
      let connection = try state.reader.didConnect(replies)
      if case .connected(let hasGap) = connection {
        state.target = hasGap ? nil : state.reader.newest
        state.asOf = MonotonicClock.nanoseconds
      }
      return connection
    }
    switch connection {
    case .connected(let hasGap):
      sink?.didConnect()
      if hasGap { sink?.didLoseTrack() }
      hear(isComplete: false, since: start)
      follow()
    case .lacks(let command):
      ask([command]) { [self] (replies, _) throws(RemoteTierError) in
        if case .error(let message)? = replies.first { throw RemoteTierError(reply: message) }
        connect()
      }
    }
  }

  private func follow() {
    guard sink != nil, let commands = state.withLock({ $0.isStopped ? nil : $0.reader.readCommands(wait: Self.wait) })
    else { return }
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

  /// Notes a reply whose changes were followed. `isComplete`: there were no others.
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
    client.renewConnections()
    let jittered = pause - Int64(Double(pause) / 2 * Double.random(in: 0...1))
    queue.asyncAfter(deadline: .now() + .nanoseconds(Int(jittered))) { [self] in connect() }
  }
}

enum ChangeTouch: Sendable, Equatable {
  case heard
  /// Since when, in nanoseconds of the monotonic clock, and why. `nil`: none was ever heard of.
  case unheard(since: Int64?, RemoteTierError?)
}
