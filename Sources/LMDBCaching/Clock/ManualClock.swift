import Synchronization

/// A clock for tests: it stands still until it is advanced, and fires the timers that fall due on the way.
public final class ManualClock: Sendable {
  private struct Timer {
    var interval: Int64
    var due: Int64
    var action: @Sendable () -> Void
  }

  private struct State {
    var now: Int64
    var monotonic: Int64 = 0
    var timers: [UInt64: Timer] = [:]
    var nextID: UInt64 = 0
  }

  private let state: Mutex<State>

  /// - Parameter now: wall-clock nanoseconds since 1970 to start at.
  public init(now: Int64 = 1_700_000_000_000_000_000) {
    state = Mutex(State(now: now))
  }

  /// Wall-clock nanoseconds since 1970.
  public var now: Int64 { state.withLock { $0.now } }

  /// Nanoseconds by which the clock was advanced since it was made.
  public var monotonic: Int64 { state.withLock { $0.monotonic } }

  /// Sets the wall clock, forwards or backwards, as an administrator would: no timer fires.
  public func set(_ now: Int64) {
    state.withLock { $0.now = now }
  }

  /// Moves both clocks forwards, calling the timers that fall due in the order of their times, on this thread.
  ///
  /// A timer's action sees the time at which it was due.
  public func advance(by duration: Duration) {
    let step = max(0, duration.clampedNanoseconds)
    let target = state.withLock { $0.monotonic.addingReportingOverflow(step).partialValue }
    while let action = state.withLock({ Self.step(&$0, to: target) }) {
      action()
    }
  }

  func addTimer(every interval: Int64, _ action: @escaping @Sendable () -> Void) -> UInt64 {
    state.withLock { state in
      state.nextID += 1
      state.timers[state.nextID] = Timer(interval: interval, due: state.monotonic + interval, action: action)
      return state.nextID
    }
  }

  var timerCount: Int { state.withLock { $0.timers.count } }

  func removeTimer(_ id: UInt64) {
    // The closure may own the cache that owns this timer: it goes after the lock.
    let removed = state.withLock { $0.timers.removeValue(forKey: id) }
    _ = removed
  }

  /// Moves to the next timer due by `target` and returns its action, or to `target` and returns nil.
  private static func step(_ state: inout State, to target: Int64) -> (@Sendable () -> Void)? {
    let next = state.timers.min { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
    guard let (id, timer) = next, timer.due <= target else {
      state.now += max(0, target - state.monotonic)
      state.monotonic = max(state.monotonic, target)
      return nil
    }
    state.now += max(0, timer.due - state.monotonic)
    state.monotonic = max(state.monotonic, timer.due)
    state.timers[id]!.due += timer.interval
    return timer.action
  }
}
