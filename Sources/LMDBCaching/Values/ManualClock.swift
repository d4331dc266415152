public import struct Foundation.Date
import Platform
import Synchronization

/// A clock for tests: it stands still until it is advanced, which fires the due timers.
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

  /// Makes a clock that stands at `date`, by default at a moment in 2023.
  public convenience init(date: Date = Date(timeIntervalSince1970: 1_700_000_000)) {
    self.init(now: Self.nanoseconds(date))
  }

  /// Wall-clock nanoseconds since 1970.
  package init(now: Int64) { state = Mutex(State(now: now)) }

  /// The wall clock's time.
  public var date: Date { Date(timeIntervalSince1970: Double(now) / 1e9) }

  /// Sets the wall clock forwards or backwards; no timer fires.
  public func set(_ date: Date) { set(Self.nanoseconds(date)) }

  /// Wall-clock nanoseconds since 1970.
  package var now: Int64 { state.withLock { $0.now } }

  /// Nanoseconds of advance since it was made.
  package var monotonic: Int64 { state.withLock { $0.monotonic } }

  package func set(_ now: Int64) { state.withLock { $0.now = now } }

  /// Clamped to 64 bits: 292 years before and after 1970.
  private static func nanoseconds(_ date: Date) -> Int64 {
    let nanoseconds = date.timeIntervalSince1970 * 1e9
    if nanoseconds.isNaN { return 0 }
    return nanoseconds >= 0x1p63 ? .max : nanoseconds < -0x1p63 ? .min : Int64(nanoseconds)
  }

  /// Advances both clocks, and calls the due timers on this thread, in the order of their times. An action sees its due
  /// time.
  public func advance(by duration: Duration) {
    let step = max(0, duration.clampedNanoseconds)
    let target = state.withLock { $0.monotonic.addingClamped(step) }
    while let action = state.withLock({ Self.step(&$0, to: target) }) {
      action()
    }
  }

  func addTimer(every interval: Int64, _ action: @escaping @Sendable () -> Void) -> UInt64 {
    state.withLock { state in
      state.nextID += 1
      state.timers[state.nextID] = Timer(
        interval: interval, due: state.monotonic.addingClamped(interval), action: action)
      return state.nextID
    }
  }

  var timerCount: Int { state.withLock { $0.timers.count } }

  func removeTimer(_ id: UInt64) {
    // Released after the lock: the closure may own the cache that owns this timer.
    let removed = state.withLock { $0.timers.removeValue(forKey: id) }
    _ = removed
  }

  /// Moves to the next timer due by `target` and returns its action, or to `target` and returns `nil`.
  private static func step(_ state: inout State, to target: Int64) -> (@Sendable () -> Void)? {
    let next = state.timers.min { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
    guard let (id, timer) = next, timer.due <= target else {
      state.now = state.now.addingClamped(max(0, target - state.monotonic))
      state.monotonic = max(state.monotonic, target)
      return nil
    }
    state.now = state.now.addingClamped(max(0, timer.due - state.monotonic))
    state.monotonic = max(state.monotonic, timer.due)
    let (due, overflow) = timer.due.addingReportingOverflow(timer.interval)
    if overflow { state.timers[id] = nil } else { state.timers[id]!.due = due }
    return timer.action
  }
}
