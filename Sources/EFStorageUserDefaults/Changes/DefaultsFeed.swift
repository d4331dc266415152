import EFStorageCore
import Foundation
import FoundationArchives
import Synchronization

/// Wakes those who watch keys of user defaults when what is under them may be another.
///
/// What is written through a reference wakes them at once. Of what is written past the references Apple's systems tell by a
/// notification; Foundation on Linux does not, so while somebody watches a look is due every ``interval``.
///
/// Threads: any.
final class DefaultsFeed: Sendable {
  static let shared = DefaultsFeed()
  private static let interval = DispatchTimeInterval.milliseconds(50)
  /// So much later a look may be, so that the system wakes for several things at once.
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

  /// What tells of changes past the references, while somebody watches.
  // Sendable: neither a dispatch source nor an observation is changed after it was made, and both may be ended on any thread.
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

  /// Whether looks are due, or the system's notifications are awaited.
  var isLooking: Bool { state.withLock { $0.looking != nil } }

  func isWatched(_ key: String) -> Bool {
    let key = KeyBytes(key)
    return state.withLock { $0.watches.values.contains { $0.key == key } }
  }

  /// Yields whenever what is under the key may be another, at once if that was so since the last look.
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

  /// To be called after a write of the key, in whichever defaults: two objects may be of one suite.
  func noteChange(_ key: String) {
    // Most often nobody watches.
    let woken = state.withLock { state in
      state.watches.isEmpty ? [] : state.watches.values.filter { $0.key == KeyBytes(key) }
    }
    for watch in woken { watch.continuation.yield() }
  }

  private func wakeAll() {
    for watch in state.withLock({ Array($0.watches.values) }) { watch.continuation.yield() }
  }
}
