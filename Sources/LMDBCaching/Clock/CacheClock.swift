import Dispatch
public import struct Foundation.Date
import Platform

/// Where a cache takes the time from: the system, or a test.
///
/// The wall clock decides expiry, because an expiry is stored and read by other processes; the monotonic clock only
/// measures intervals. The time by which entries expire never goes back, also when the wall clock is set back: what has
/// expired once stays gone. It then goes on from where it was, until the wall clock is ahead again.
public struct CacheClock: Sendable {
  enum Source: Sendable {
    case system
    case manual(ManualClock)
  }

  let source: Source
  private let floor = TimeFloor()

  /// The clocks of the operating system.
  public static var system: CacheClock { CacheClock(source: .system) }

  /// A clock that moves only when `clock` is told to.
  public static func manual(_ clock: ManualClock) -> CacheClock { CacheClock(source: .manual(clock)) }

  /// Whether both are the system's, or the same manual clock.
  func isSame(as other: CacheClock) -> Bool {
    switch (source, other.source) {
    case (.system, .system): true
    case (.manual(let clock), .manual(let other)): clock === other
    default: false
    }
  }

  /// The time by which entries expire.
  public var date: Date { Date(timeIntervalSince1970: Double(now) / 1e9) }

  // Times are nanoseconds from here on.

  /// The time by which entries expire: since 1970, precise; never steps backwards, to within a millisecond.
  @usableFromInline
  package var now: Int64 { floor.time(wallTime, monotonic) }

  /// Makes ``now`` not be before `time`, which somebody has seen.
  package func advance(toAtLeast time: Int64) { floor.advance(to: time, monotonic: monotonic) }

  /// The time as of the kernel's last tick (up to 10 ms ago), several times cheaper. While the wall clock is behind what
  /// was seen of it, it stands still.
  @usableFromInline
  package var coarseNow: Int64 { max(coarseWallTime, floor.latestTime) }

  private var coarseWallTime: Int64 {
    switch source {
    case .system: Self.coarseSystemTime
    case .manual(let clock): clock.now
    }
  }

  private static var coarseSystemTime: Int64 {
    #if os(Linux)
      read(CLOCK_REALTIME_COARSE)
    #else
      read(CLOCK_REALTIME)
    #endif
  }

  /// A clock for frequent reads, without counting references: the memory store that reads it keeps the `CacheClock`, which
  /// keeps both objects.
  struct Unretained {
    private let manual: Unmanaged<ManualClock>?
    private let floor: Unmanaged<TimeFloor>

    init(_ clock: CacheClock) {
      switch clock.source {
      case .system: manual = nil
      case .manual(let clock): manual = .passUnretained(clock)
      }
      floor = .passUnretained(clock.floor)
    }

    /// As of the clock.
    var coarseNow: Int64 {
      let latest = floor._withUnsafeGuaranteedRef { $0.latestTime }
      guard let manual else { return max(CacheClock.coarseSystemTime, latest) }
      return max(manual._withUnsafeGuaranteedRef { $0.now }, latest)
    }
  }

  /// Since some fixed moment; never steps backwards.
  package var monotonic: Int64 {
    switch source {
    case .system: Self.read(CLOCK_MONOTONIC)
    case .manual(let clock): clock.monotonic
    }
  }

  private var wallTime: Int64 {
    switch source {
    case .system: Self.read(CLOCK_REALTIME)
    case .manual(let clock): clock.now
    }
  }

  /// Calls `action` every `interval` until the returned timer is cancelled or released.
  ///
  /// With the system's clock the calls are made on a queue of utility priority, never two at once, each up to
  /// `tolerance` late (a tenth of the interval when not given). With a manual clock they are made by
  /// `ManualClock.advance(by:)`, on its caller's thread.
  package func repeating(
    every interval: Duration, tolerance: Duration? = nil, _ action: @escaping @Sendable () -> Void
  ) -> CacheTimer {
    // More than a year is as good as a year, and no sum of times that the timers make overflows.
    let nanoseconds = min(max(1_000, interval.clampedNanoseconds), 365 * 86_400 * 1_000_000_000)
    switch source {
    case .manual(let clock):
      let id = clock.addTimer(every: nanoseconds, action)
      return CacheTimer { clock.removeTimer(id) }
    case .system:
      let leeway = tolerance.map { min(max(0, $0.clampedNanoseconds), nanoseconds) } ?? nanoseconds / 10
      // Unsafe in name only: a dispatch source may be used from any thread, but on Linux it does not say so.
      nonisolated(unsafe) let timer = DispatchSource.makeTimerSource(queue: Self.timers)
      let step = DispatchTimeInterval.nanoseconds(Int(clamping: nanoseconds))
      timer.schedule(deadline: .now() + step, repeating: step, leeway: .nanoseconds(Int(clamping: leeway)))
      timer.setEventHandler(handler: action)
      timer.activate()
      return CacheTimer { timer.cancel() }
    }
  }

  private static let timers = DispatchQueue(label: "LMDBCaching.timers", qos: .utility, attributes: .concurrent)

  private static func read(_ id: clockid_t) -> Int64 {
    var time = timespec()
    clock_gettime(id, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}
