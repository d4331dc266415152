import Dispatch
import Foundation
import Platform
import Synchronization

/// Reads the stream of the fleet's changes, all the time and without gaps.
///
/// After a disconnection it reads on after the last change that it has seen, if the server still has that one, and has not
/// been emptied: the server forgets changes from the oldest on, so nothing after it is missing then. If not, changes may
/// have been missed, and ``ChangeSink/didLoseTrack()`` says so. That is so at the beginning, too.
final class ChangeFollower: Sendable {
  /// How long the server holds its reply back when there is nothing new.
  static let wait = Duration.seconds(1)
  private static let pageLength = 512
  private static let firstPause: Int64 = 20_000_000
  private static let longestPause: Int64 = 1_000_000_000

  private struct State {
    var isStopped = false
    /// Nil: nothing was read yet.
    var incarnation: Data?
    var position = RemoteRevision.none
    var touch = ChangeTouch.unheard(since: MonotonicClock.nanoseconds)
    var pause = ChangeFollower.firstPause
  }

  private let client: RemoteClient
  private let names: RemoteNames
  private weak let sink: (any ChangeSink)?
  private let queue = DispatchQueue(label: "LMDBCachingRemote.changes", qos: .userInitiated)
  private let state = Mutex(State())

  init(_ client: RemoteClient, _ names: RemoteNames, _ sink: any ChangeSink) {
    self.client = client
    self.names = names
    self.sink = sink
  }

  func start() { queue.async { [self] in connect() } }

  func stop() { state.withLock { $0.isStopped = true } }

  /// Nanoseconds of the monotonic clock: all changes before were heard of.
  var heardUntil: Int64? { state.withLock { if case .unheard(let time) = $0.touch { time } else { nil } } }

  // MARK: Connecting

  private func connect() {
    let (isStopped, position) = state.withLock { ($0.isStopped, $0.position) }
    guard !isStopped, let sink else { return }
    let own = max(sink.greatestOwnRevision, .none)
    let commands = [
      RemoteCommand("SET", names.incarnation, UUID().uuidString, "NX"),
      RemoteCommand("GET", names.incarnation),
      RemoteCommand("XREVRANGE", names.changes, "+", "-", "COUNT", 1),
      RemoteCommand("XRANGE", names.changes, position.text, position.text),
      RemoteCommand("XRANGE", names.changes, own.text, own.text),
    ]
    let start = MonotonicClock.nanoseconds
    client.sendBlocking(commands, upTo: .zero) { [self] result in
      queue.async { [self] in
        do throws(RemoteTierError) {
          let replies = try result.get()
          guard try RemoteChange.entries(in: replies[2]).isEmpty else {
            try didConnect(replies, position, own, since: start)
            return follow()
          }
          // There is always a last change, so that one can tell whether it is still remembered.
          client.sendBlocking([RemoteCommand("XADD", names.changes, "*", "n", "")], upTo: .zero) { [self] result in
            queue.async { [self] in if case .failure(let error) = result { fail(error) } else { connect() } }
          }
        } catch {
          fail(error)
        }
      }
    }
  }

  private func didConnect(
    _ replies: [RemoteReply], _ position: RemoteRevision, _ own: RemoteRevision, since start: Int64
  ) throws(RemoteTierError) {
    guard case .bytes(let incarnation) = replies[1] else {
      throw RemoteTierError(.failed, "The server does not keep what is written to it.")
    }
    let last = try RemoteChange.entries(in: replies[2]).first?.revision ?? .none
    let known = state.withLock { $0.incarnation }
    let isForgotten = try RemoteChange.entries(in: replies[3]).isEmpty
    var hasGap = known != incarnation || isForgotten
    // What this machine wrote, and the server lost at a fail-over.
    if !hasGap, own != .none { hasGap = try RemoteChange.entries(in: replies[4]).isEmpty }
    state.withLock { state in
      state.incarnation = incarnation
      if hasGap { state.position = last }
    }
    if hasGap { sink?.didLoseTrack() }
    hear(since: start)
  }

  private func hear(since start: Int64) {
    state.withLock { state in
      state.pause = Self.firstPause
      state.touch = .heard
    }
    lastHeard.store(start, ordering: .relaxed)
    sink?.didChangeTouch(.heard)
  }

  private let lastHeard = Atomic<Int64>(MonotonicClock.nanoseconds)

  // MARK: Following

  private func follow() {
    let (isStopped, position) = state.withLock { ($0.isStopped, $0.position) }
    if isStopped || sink == nil { return }
    let commands = [
      RemoteCommand("GET", names.incarnation),
      RemoteCommand(
        "XREAD", "COUNT", Self.pageLength, "BLOCK", Self.wait.wholeMilliseconds, "STREAMS", names.changes, position.text
      ),
      RemoteCommand("XRANGE", names.changes, position.text, position.text),
    ]
    let start = MonotonicClock.nanoseconds
    client.sendBlocking(commands, upTo: Self.wait) { [self] result in
      queue.async { [self] in
        do throws(RemoteTierError) {
          try read(try result.get(), since: start)
          follow()
        } catch {
          fail(error)
        }
      }
    }
  }

  private func read(_ replies: [RemoteReply], since start: Int64) throws(RemoteTierError) {
    let incarnation = state.withLock { $0.incarnation }
    guard case .bytes(let found) = replies[0], found == incarnation else {
      // It was emptied meanwhile, and perhaps used again.
      throw RemoteTierError(.unreachable, "The server was emptied.")
    }
    guard let sink else { return }
    let changes = try RemoteChange.changes(in: replies[1])
    for (revision, change) in changes {
      sink.apply(change, revision: revision)
      state.withLock { $0.position = revision }
    }
    // Changes are forgotten from the oldest on: if the one before those that were read is still there, none is missing.
    if try RemoteChange.entries(in: replies[2]).isEmpty {
      sink.didLoseTrack()
      // There is none to go on from, unless some were read.
      if changes.isEmpty { throw RemoteTierError(.unreachable, "The last change that was read was forgotten.") }
    }
    lastHeard.store(start, ordering: .relaxed)
  }

  private func fail(_ error: RemoteTierError) {
    guard let sink else { return }
    let heard = lastHeard.load(ordering: .relaxed)
    let (isStopped, pause) = state.withLock { state in
      state.touch = .unheard(since: heard)
      defer { state.pause = min(state.pause * 2, Self.longestPause) }
      return (state.isStopped, state.pause)
    }
    if isStopped { return }
    sink.didChangeTouch(.unheard(since: heard))
    let jittered = pause - Int64(Double(pause) / 2 * Double.random(in: 0...1))
    queue.asyncAfter(deadline: .now() + .nanoseconds(Int(jittered))) { [self] in connect() }
  }
}
