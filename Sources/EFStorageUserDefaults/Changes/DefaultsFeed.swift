import EFStorageCore
import Foundation
import FoundationArchives
import Synchronization

/// Wakes the watchers of keys of user defaults when their contents may have changed.
///
/// Writes through a reference wake them at once. Other writes are notified on Apple platforms; on Linux, Foundation
/// does not, so the feed polls every ``interval`` while it has watchers. Threads: any.
final class DefaultsFeed: Sendable {
  static let shared = DefaultsFeed()
  private static let interval = DispatchTimeInterval.milliseconds(50)
  /// The leeway lets the system combine wake-ups.
  private static let leeway = DispatchTimeInterval.milliseconds(10)

  private struct Watch {
    let key: KeyBytes
    let continuation: AsyncStream<Void>.Continuation
  }

  private struct State {
    var watches: [Int: Watch] = [:]
    var lastNumber = 0
    var looking: Looking?
  }

  /// The source of changes that bypass references.
  // Sendable: a dispatch source and an observation are immutable, and any thread may end them.
  private final class Looking: @unchecked Sendable {
    #if canImport(Darwin)
      private let observation: any NSObjectProtocol

      init(_ look: @escaping @Sendable () -> Void) {
        observation = NotificationCenter.default.addObserver(
          forName: UserDefaults.didChangeNotification, object: nil, queue: nil
        ) { _ in look() }
      }

      func end() { NotificationCenter.default.removeObserver(observation) }
    #else
      private let timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))

      init(_ look: @escaping @Sendable () -> Void) {
        timer.schedule(
          deadline: .now() + DefaultsFeed.interval, repeating: DefaultsFeed.interval, leeway: DefaultsFeed.leeway)
        timer.setEventHandler(handler: look)
        timer.activate()
      }

      func end() { timer.cancel() }
    #endif
  }

  private let state = Mutex(State())

  init() {}

  var isLooking: Bool { state.withLock { $0.looking != nil } }

  func isWatched(_ key: String) -> Bool {
    let key = KeyBytes(key)
    return state.withLock { $0.watches.values.contains { $0.key == key } }
  }

  /// Yields whenever the content may have changed, at once if it has since the last poll.
  func watch(_ key: String) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.lastNumber += 1
      state.watches[state.lastNumber] = Watch(key: KeyBytes(key), continuation: continuation)
      if state.looking == nil { state.looking = Looking { [self] in wakeAll() } }
      return state.lastNumber
    }
    continuation.onTermination = { [self] _ in end(number) }
    return stream
  }

  private func end(_ number: Int) {
    let (watch, looking) = state.withLock { state in
      let watch = state.watches.removeValue(forKey: number)
      return (watch, state.watches.isEmpty ? state.looking.take() : nil)
    }
    looking?.end()
    withExtendedLifetime(watch) {}
  }

  /// Call it after a write of the key in any defaults, since two objects may share a suite.
  func noteChange(_ key: String) {
    // Usually nothing is watched.
    let woken = state.withLock { state in
      state.watches.isEmpty ? [] : state.watches.values.filter { $0.key == KeyBytes(key) }
    }
    for watch in woken { watch.continuation.yield() }
  }

  private func wakeAll() {
    for watch in state.withLock({ Array($0.watches.values) }) { watch.continuation.yield() }
  }
}
