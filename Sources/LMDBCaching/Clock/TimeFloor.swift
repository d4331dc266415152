import Synchronization

/// Remembers how late it is, so that a wall clock which is set back does not bring back what has expired.
final class TimeFloor: Sendable {
  /// How far the time may go on before it is remembered: not every look at the clock writes to memory that threads share.
  private static let step: Int64 = 1_000_000

  private let latest = Atomic<Int64>(.min)
  /// The greatest lead of the time on the monotonic clock.
  private let lead = Atomic<Int64>(.min)

  /// The greatest time that was remembered.
  var latestTime: Int64 { latest.load(ordering: .relaxed) }

  /// The wall clock's time, or, when that was set back, the time that has gone on since by the monotonic clock.
  func time(_ wall: @autoclosure () -> Int64, _ monotonic: @autoclosure () -> Int64) -> Int64 {
    // Before the clock is looked at: who is interrupted in between would take a later look of another thread for a clock
    // that was set back.
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
