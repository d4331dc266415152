import Dispatch
public import struct Foundation.Date
import Platform
import Synchronization

/// A cache's source of time: the system, or a test.
///
/// The wall clock decides expiry, which is stored and read by other processes; the monotonic clock only measures
/// intervals. The time for expiry never goes back, even if the wall clock is set back, so expired entries stay hidden.
/// It then continues from its last value until the wall clock is ahead again.
public struct CacheClock: Sendable {
  /// `nil` for the operating system's clocks.
  private let manual: ManualClock?
  private let floor = TimeFloor()

  /// The clocks of the operating system.
  public static var system: CacheClock { CacheClock(manual: nil) }

  /// A clock that moves only with `clock`.
  public static func manual(_ clock: ManualClock) -> CacheClock { CacheClock(manual: clock) }

  func isSame(as other: CacheClock) -> Bool { manual === other.manual }

  /// The time that decides expiry.
  public var date: Date { Date(timeIntervalSince1970: Double(now) / 1e9) }

  // Times are nanoseconds from here on.

  /// The precise time for expiry, since 1970; never steps backwards by more than a millisecond.
  @usableFromInline
  package var now: Int64 { floor.time(wallTime, monotonic) }

  /// Keeps ``now`` at or after `time`, which was observed elsewhere.
  package func advance(toAtLeast time: Int64) { floor.advance(to: time, monotonic: monotonic) }

  /// The time of the kernel's last tick (up to 10 ms ago), several times cheaper. It stands still while the wall clock
  /// is behind an observed time.
  @usableFromInline
  package var coarseNow: Int64 { max(manual?.now ?? Self.coarseSystemTime, floor.latestTime) }

  private static var coarseSystemTime: Int64 {
    #if os(Linux)
      read(CLOCK_REALTIME_COARSE)
    #else
      read(CLOCK_REALTIME)
    #endif
  }

  /// A clock for frequent reads without reference counting; the reading memory store keeps the `CacheClock`.
  @safe struct Unretained {
    private let manual: Unmanaged<ManualClock>?
    private let floor: Unmanaged<TimeFloor>

    init(_ clock: CacheClock) {
      unsafe manual = unsafe clock.manual.map { unsafe .passUnretained($0) }
      unsafe floor = unsafe .passUnretained(clock.floor)
    }

    var coarseNow: Int64 {
      let latest = unsafe floor._withUnsafeGuaranteedRef { $0.latestTime }
      guard let manual = unsafe manual else { return max(CacheClock.coarseSystemTime, latest) }
      return unsafe max(manual._withUnsafeGuaranteedRef { $0.now }, latest)
    }
  }

  /// Since some fixed moment; never steps backwards.
  package var monotonic: Int64 { manual?.monotonic ?? Self.read(CLOCK_MONOTONIC) }

  private var wallTime: Int64 { manual?.now ?? Self.read(CLOCK_REALTIME) }

  /// Calls `action` every `interval` until the returned timer is cancelled or released.
  ///
  /// With the system's clock the calls run one at a time on a queue of utility priority, each up to `tolerance` late
  /// (by default a tenth of the interval). With a manual clock `ManualClock.advance(by:)` makes them, on its caller's
  /// thread.
  package func repeating(
    every interval: Duration, tolerance: Duration? = nil, _ action: @escaping @Sendable () -> Void
  ) -> CacheTimer {
    // A year is enough, and keeps the timers' sums from overflowing.
    let nanoseconds = min(max(1_000, interval.clampedNanoseconds), 365 * 86_400 * 1_000_000_000)
    if let manual {
      let id = manual.addTimer(every: nanoseconds, action)
      return CacheTimer { manual.removeTimer(id) }
    }
    let leeway = tolerance.map { min(max(0, $0.clampedNanoseconds), nanoseconds) } ?? nanoseconds / 10
    let step = DispatchTimeInterval.nanoseconds(Int(clamping: nanoseconds))
    return CacheTimer(
      stop: Self.start(after: step, repeating: step, leeway: .nanoseconds(Int(clamping: leeway)), action))
  }

  /// Calls `action` after a while, and perhaps repeatedly, until the result is called.
  static func start(
    on queue: DispatchQueue = timers, after delay: DispatchTimeInterval, repeating step: DispatchTimeInterval = .never,
    leeway: DispatchTimeInterval = .nanoseconds(0), _ action: @escaping @Sendable () -> Void
  ) -> @Sendable () -> Void {
    // Unsafe in name only: any thread may use a dispatch source, but on Linux it is not declared so.
    nonisolated(unsafe) let timer = DispatchSource.makeTimerSource(queue: queue)
    unsafe timer.schedule(deadline: .now() + delay, repeating: step, leeway: leeway)
    unsafe timer.setEventHandler(handler: action)
    unsafe timer.activate()
    return { unsafe timer.cancel() }
  }

  private static let timers = DispatchQueue(label: "LMDBCaching.timers", qos: .utility, attributes: .concurrent)

  private static func read(_ id: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(id, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

/// A repeating action that ends when the timer is cancelled or released.
package final class CacheTimer: Sendable {
  private let stop: Mutex<(@Sendable () -> Void)?>

  init(stop: @escaping @Sendable () -> Void) {
    self.stop = Mutex(stop)
  }

  deinit { cancel() }

  /// Ends the timer, without waiting for a running call.
  package func cancel() {
    let stop = stop.withLock { stop in
      defer { stop = nil }
      return stop
    }
    stop?()
  }
}

extension Duration {
  /// Clamped to 64 bits (about 292 years either way).
  package var clampedNanoseconds: Int64 {
    // Checked first: the components of durations beyond 64 bits of seconds trap.
    if self >= .nanoseconds(Int64.max) { return .max }
    if self <= .nanoseconds(Int64.min) { return .min }
    let (seconds, attoseconds) = components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }

  /// A fraction, from 0 to 1, of a duration that is not negative. (Multiplication traps on overflow by rounding.)
  func share(_ share: Double) -> Duration {
    let length = clampedNanoseconds
    return .nanoseconds(min(length, Int64(clamping: Int128(Double(length) * share))))
  }
}

/// Remembers the latest time, so that setting the wall clock back does not revive expired entries.
final class TimeFloor: Sendable {
  /// The time is remembered in steps, so that not every read writes to shared memory.
  private static let step: Int64 = 1_000_000

  private let latest = Atomic<Int64>(.min)
  /// The lead of the latest time over the monotonic clock. (A greater one, from before the wall clock was set back, would
  /// make the time jump ahead.)
  private let lead = Atomic<Int64>(.min)

  var latestTime: Int64 { latest.load(ordering: .relaxed) }

  /// The wall clock's time, or after a step back, the time continued by the monotonic clock.
  func time(_ wall: @autoclosure () -> Int64, _ monotonic: @autoclosure () -> Int64) -> Int64 {
    // Loaded before the clock: if interrupted in between, a thread would take another's later reading for a clock that
    // was set back.
    let latest = latest.load(ordering: .acquiring)
    let wall = wall()
    var time = wall
    if wall < latest {
      time = max(latest, monotonic().addingClamped(lead.load(ordering: .relaxed)))
    }
    if time >= latest.addingClamped(Self.step) { advance(to: time, monotonic: monotonic()) }
    return time
  }

  func advance(to time: Int64, monotonic: Int64) {
    let (difference, overflow) = time.subtractingReportingOverflow(monotonic)
    if time > latest.load(ordering: .relaxed) { lead.store(overflow ? .max : difference, ordering: .relaxed) }
    latest.max(time, ordering: .releasing)
  }
}

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
