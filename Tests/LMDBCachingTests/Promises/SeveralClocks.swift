import Foundation
import LMDBCaching

/// The clocks of several processes of one machine at chosen moments, each standing still there.
///
/// Between them passes as little time as a fast machine needs, however slow this one is.
struct SeveralClocks {
  private let wall: Int64
  private let monotonic: Int64

  init() {
    (wall, monotonic) = (CacheClock.system.now, CacheClock.system.monotonic)
  }

  /// For a cache of this process.
  func clock(after nanoseconds: Int64 = 0) -> CacheClock {
    let clock = ManualClock(now: wall - monotonic)
    clock.advance(by: .nanoseconds(monotonic + nanoseconds))
    return .manual(clock)
  }

  /// For one of another process, as an option.
  func option(after nanoseconds: Int64) -> String { "clock=\(wall + nanoseconds):\(monotonic + nanoseconds)" }
}
