/// Time of the last access in 32 bits: ticks of 2^26 nanoseconds (67 ms) since the store was made, enough for 9 years.
@usableFromInline
package struct MemoryTicks: Sendable {
  /// Unmanaged: counting references would be the most expensive part of a hit, and contended. The store keeps the
  /// clock.
  private let clock: CacheClock.Unretained
  private let epoch: Int64

  init(clock: CacheClock) {
    self.clock = CacheClock.Unretained(clock)
    epoch = clock.coarseNow
  }

  /// The present tick; the first one if the wall clock is before the store's creation.
  @usableFromInline
  var now: UInt32 {
    let elapsed = max(0, clock.coarseNow &- epoch) >> 26
    return UInt32(clamping: elapsed)
  }

  func nanoseconds(of tick: UInt32) -> Int64 {
    epoch &+ Int64(tick) << 26
  }
}
