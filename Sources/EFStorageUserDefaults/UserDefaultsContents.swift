public import EFStorageCore
import Foundation
import FoundationArchives
import Platform
import Synchronization

/// See ``EFStorageUserDefaultsRef/values``.
struct UserDefaultsContents<Content: UserDefaultsStorable>: AsyncSequence {
  typealias Element = Content?
  typealias Failure = EFStorageFailure

  let reference: EFStorageUserDefaultsRef<Content>

  func makeAsyncIterator() -> Iterator { Iterator(reference) }

  struct Iterator: AsyncIteratorProtocol {
    private let reference: EFStorageUserDefaultsRef<Content>
    private let moments: AsyncStream<Void>
    private var last: StoredObject?

    fileprivate init(_ reference: EFStorageUserDefaultsRef<Content>) {
      self.reference = reference
      // Watch before the first look.
      moments = DefaultsFeed.shared.watch(reference.key)
    }

    mutating func next() async throws(EFStorageFailure) -> Content?? { try await next(isolation: nil) }

    mutating func next(isolation actor: isolated (any Actor)?) async throws(EFStorageFailure) -> Content?? {
      var waiting = moments.makeAsyncIterator()
      while !Task.isCancelled {
        // Taken first, so that a write during the read counts as another content.
        let object = StoredObject(reference.storage, reference.key)
        if last.map({ !$0.isSame(as: object) }) ?? true {
          last = object
          return .some(try reference.load())
        }
        guard await waiting.next(isolation: actor) != nil else { return nil }
      }
      return nil
    }
  }
}

extension EFStorageUserDefaultsRef {
  /// The content, `nil` if it is missing, and its later contents, by any writer.
  ///
  /// ```swift
  /// for try await theme in $theme.values { apply(theme ?? "light") }
  /// ```
  ///
  /// Each iterator starts with the present content, then skips to the last of several pending changes and omits equal
  /// contents. It ends when its task is cancelled.
  ///
  /// It sees writes of this process through a reference at once, others within 60 ms, and writes of another process when
  /// this one sees them: on Linux after the next `synchronize()`, which follows each change through a reference within a
  /// tenth of a second, and on Apple platforms with the next change in this process.
  ///
  /// Iterating throws `EFStorageFailure` for an object that is unreadable as a `Content`; the next call waits for the next
  /// content.
  public var values: some AsyncSequence<Content?, EFStorageFailure> { UserDefaultsContents(reference: self) }
}

/// Notifies Observation of changes of one key of user defaults. Read ``moment`` before the content. Threads: any.
final class ObservedDefaultsKey: Sendable {
  private let changed: ObservedMoment
  private let following: Task<Void, Never>

  init(_ defaults: UserDefaults, _ key: String) {
    // From now on, not from when the task runs.
    let moments = DefaultsFeed.shared.watch(key)
    let (first, shared) = (StoredObject(defaults, key), SharedDefaults(defaults: defaults))
    let changed = ObservedMoment()
    self.changed = changed
    following = Task { [weak changed] in
      var last = first
      for await _ in moments {
        let object = StoredObject(shared.defaults, key)
        if last.isSame(as: object) { continue }
        last = object
        guard changed?.advance() != nil else { return }
        do { try await Task.sleep(for: ObservedMoment.pause) } catch { return }
      }
    }
  }

  deinit { following.cancel() }

  /// How often the content has changed. Reading it registers with Observation.
  var moment: Int { changed.present }
}

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
