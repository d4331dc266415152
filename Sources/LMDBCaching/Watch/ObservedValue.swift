public import Observation
import Platform
import Synchronization

/// The value under a key, tracked by Observation: a SwiftUI view that reads ``value``,
/// `withObservationTracking(_:onChange:)` and `Observations` are notified when any process writes, removes or trims the
/// entry, or it expires.
///
/// ```swift
/// let user = cache.observe(User.self, forKey: "user:42")
/// withObservationTracking { print(user.value) } onChange: { refresh() }
/// ```
///
/// Reading it reads the cache. Notifications come on a thread of Swift's pool, within 10 ms of a change or expiry, or
/// 65 ms of another process's commit, up to a hundred times a second; the last change is never missed. A change
/// before the end of the tracked closure is notified after that end, later the longer the closure went on. It costs as
/// much as ``LMDBCache/changes(withPrefix:bufferingLimit:)``, and keeps the cache alive. Threads: any.
public final class ObservedValue<Value: Codable & Sendable>: Observable, Sendable {
  /// The observed key.
  public let key: String
  /// The cache that is read.
  public let cache: LMDBCache
  /// `nil` until the value is read.
  private let observed = Mutex<ObservedKey?>(nil)

  init(_ cache: LMDBCache, key: String) {
    self.key = key
    self.cache = cache
  }

  /// The value and then its later values, as a sequence.
  ///
  /// It follows the changes of ``LMDBCache/changes(withPrefix:bufferingLimit:)``. The last value is never missed; earlier
  /// ones are skipped if the loop is slow. A value that is written while it is read may appear twice; an older value
  /// never follows a newer one. An expired value becomes `nil` within 10 ms, unless the system's clock is changed.
  ///
  /// It costs an observer of changes, and a read for each value.
  public var values: CacheValues<Value> { CacheValues(cache, key: key) }

  /// The value, or `nil` if it is missing or unreadable, which is logged; ``read()`` throws the reason.
  public var value: Value? { cache.answer(nil) { () throws(CacheError) in try read() } }

  /// Returns the value, or `nil` if it is missing.
  ///
  /// - Throws: as `value(forKey:)`.
  public func read() throws(CacheError) -> Value? {
    let observed = observed.withLock { observed in
      let present = observed ?? ObservedKey(cache, key: key)
      observed = present
      return present
    }
    _ = observed.moment
    return try cache.value(Value.self, forKey: key)
  }
}

extension LMDBCache {
  /// The value under `key` as an object that Observation tracks, and as a sequence: ``ObservedValue/values``.
  ///
  /// Each call makes one; keep it as long as it is read.
  public func observe<V: Codable & Sendable>(_ type: V.Type = V.self, forKey key: String) -> ObservedValue<V> {
    ObservedValue(self, key: key)
  }
}

/// Notifies Observation of changes of one entry. Read ``moment`` before the entry. Threads: any.
package final class ObservedKey: Sendable {
  private let changed: ObservedMoment
  private let following: Task<Void, Never>

  package init(_ cache: LMDBCache, key: String) {
    // From now on, not from when the task runs.
    var changes = KeyChanges(cache, key: key)
    _ = changes.isNew(Self.entry(cache, key))
    let changed = ObservedMoment()
    self.changed = changed
    following = Task { [weak changed, weak cache, changes] in
      var changes = changes
      // The first one is the present entry.
      _ = await changes.next()
      while await changes.next() {
        guard let cache else { return }
        // Most changes of other keys leave this entry as it is.
        guard changes.isNew(Self.entry(cache, key)) else { continue }
        guard changed?.advance() != nil else { return }
        do { try await Task.sleep(for: ObservedMoment.pause) } catch { return }
      }
    }
  }

  deinit { following.cancel() }

  /// `nil` if the entry is missing or unreadable.
  private static func entry(_ cache: LMDBCache, _ key: String) -> CacheEntry? {
    do throws(CacheError) { return try cache.entry(forKey: key) } catch { return nil }
  }

  /// How often the entry has changed. Reading it registers with Observation.
  package var moment: Int { changed.present }
}

/// The value under a key and its later values, from ``ObservedValue/values``.
///
/// ```swift
/// for try await user in cache.observe(User.self, forKey: "user:42").values { print(user) }
/// ```
///
/// Each iterator starts with the present value.
public struct CacheValues<Value: Codable & Sendable>: AsyncSequence, Sendable {
  private let cache: @Sendable () -> LMDBCache?
  private let key: String

  init(_ cache: LMDBCache, key: String) {
    self.cache = { [weak cache] in cache }
    self.key = key
  }

  public func makeAsyncIterator() -> Iterator {
    Iterator(cache: cache, key: key, changes: cache().map { KeyChanges($0, key: key) })
  }

  /// Waits for the values in turn.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let cache: @Sendable () -> LMDBCache?
    fileprivate let key: String
    fileprivate var changes: KeyChanges?

    /// The next value (`nil` if it is missing), or `nil` if the sequence has ended.
    ///
    /// - Throws: as `value(forKey:)`, if the entry cannot be read as a `Value`. Another call waits for its replacement.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws(CacheError) -> Value?? {
      while await changes?.next() == true {
        guard let cache = cache() else { return nil }
        do throws(CacheError) {
          if try changes?.isNew(cache.entry(forKey: key)) == true {
            return .some(try cache.value(Value.self, forKey: key))
          }
        } catch {
          if error.code == .closed { return nil }
          throw error
        }
      }
      return nil
    }
  }
}

/// Notifies the observer of an entry when it expires; removal from the disk comes later.
///
/// The wall clock decides. If it has been set back, the alarm waits on.
final class ExpiryAlarm: Sendable {
  private static let tolerance = Duration.milliseconds(10)

  private struct State {
    var timer: CacheTimer?
    /// Nanoseconds since 1970; 0 for never.
    var expires: Int64 = 0
  }

  private let state = Mutex(State())
  private let clock: CacheClock
  private let key: String
  private let mailbox: ChangeMailbox

  init(_ clock: CacheClock, key: String, mailbox: ChangeMailbox) {
    self.clock = clock
    self.key = key
    self.mailbox = mailbox
  }

  func set(_ expires: Int64) {
    if state.withLock({ $0.expires == expires }) { return }
    // Started and ended without the lock: a timer may fire at once.
    let timer = expires == 0 ? nil : startTimer(expires)
    let old = state.withLock { state in
      let old = state.timer
      state = State(timer: timer, expires: expires)
      return old
    }
    old?.cancel()
  }

  private func startTimer(_ expires: Int64) -> CacheTimer {
    let (rest, overflow) = expires.subtractingReportingOverflow(clock.now)
    let interval = Duration.nanoseconds(overflow ? (expires < 0 ? 1 : .max) : max(1, rest))
    return clock.repeating(every: interval, tolerance: Self.tolerance) { [weak self] in self?.ring(expires) }
  }

  private func ring(_ expires: Int64) {
    // Early by the wall clock: wait on.
    let next = clock.now < expires ? startTimer(expires) : nil
    let (old, isCurrent) = state.withLock { state -> (CacheTimer?, Bool) in
      // Another entry has replaced it, or another thread rings.
      guard state.expires == expires, state.timer != nil else { return (next, false) }
      let old = state.timer
      state = next == nil ? State() : State(timer: next, expires: expires)
      return (old, true)
    }
    old?.cancel()
    if isCurrent, next == nil { mailbox.push(.expired(key: key))?() }
  }
}
