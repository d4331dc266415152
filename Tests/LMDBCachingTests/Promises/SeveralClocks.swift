import Foundation
import LMDBCaching

/// Fixed clocks for several processes of one machine, nanoseconds apart, however slow the real machine is.
struct SeveralClocks {
  private let wall: Int64
  private let monotonic: Int64

  init() {
    (wall, monotonic) = (CacheClock.system.now, CacheClock.system.monotonic)
  }

  /// The clock for a cache of this process.
  func clock(after nanoseconds: Int64 = 0) -> CacheClock {
    let clock = ManualClock(now: wall - monotonic)
    clock.advance(by: .nanoseconds(monotonic + nanoseconds))
    return .manual(clock)
  }

  /// The clock as an option for another process.
  func option(after nanoseconds: Int64) -> String { "clock=\(wall + nanoseconds):\(monotonic + nanoseconds)" }
}
