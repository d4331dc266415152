import Synchronization

/// Remembers the latest time, so that setting the wall clock back does not revive expired entries.
final class TimeFloor: Sendable {
  /// The time is remembered in steps, so that not every read writes to shared memory.
  private static let step: Int64 = 1_000_000

  private let latest = Atomic<Int64>(.min)
  /// The greatest lead over the monotonic clock.
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
      time = max(latest, Self.sum(monotonic(), lead.load(ordering: .relaxed)))
    }
    if time >= Self.sum(latest, Self.step) { advance(to: time, monotonic: monotonic()) }
    return time
  }

  func advance(to time: Int64, monotonic: Int64) {
    let (difference, overflow) = time.subtractingReportingOverflow(monotonic)
    lead.max(overflow ? .max : difference, ordering: .relaxed)
    latest.max(time, ordering: .releasing)
  }

  private static func sum(_ first: Int64, _ second: Int64) -> Int64 {
    let (sum, overflow) = first.addingReportingOverflow(second)
    return overflow ? (first < 0 ? .min : .max) : sum
  }
}
