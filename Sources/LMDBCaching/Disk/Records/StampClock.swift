/// Makes stamps, which order the writes of all processes that share a directory.
///
/// A stamp is the monotonic clock's nanoseconds plus a base stored with the cache, chosen at each boot so that stamps
/// keep growing. Stamps run ahead of the clock by at most a nanosecond per write of a batch, less than the write takes.
/// So a write that begins after another has returned, in any process, has the greater stamp.
struct StampClock {
  /// Stamps are below this bound (the year 2116); greater ones are forged or damaged.
  static let limit: UInt64 = 1 << 62
  /// The greatest initial stamp, more than thirty years below ``limit``.
  static let greatestStart: UInt64 = limit - (1 << 60)
  /// Valid stamps in files are below this bound, nine years below ``limit``, which leaves room for later ones.
  static let foundLimit: UInt64 = limit - (1 << 58)

  /// Added to the monotonic clock.
  var base: UInt64
  /// The greatest known stamp.
  private(set) var last: UInt64

  /// The low byte of this process's stamps, which makes equal stamps from two processes very unlikely.
  private static let processTag = UInt64.random(in: 0...0xFF)

  /// The present time as a stamp, for comparisons.
  func present(_ clock: CacheClock) -> UInt64 { base &+ UInt64(truncatingIfNeeded: clock.monotonic) }

  @inline(__always)
  mutating func next(_ clock: CacheClock) -> UInt64 {
    let now = present(clock) & ~0xFF | Self.processTag
    last = now > last ? now : last &+ 1
    return last
  }

  /// The stamp after the last one, for a batch's later writes. Does not read the clock.
  @inline(__always)
  mutating func following() -> UInt64 {
    last &+= 1
    return last
  }

  mutating func advance(to stamp: UInt64) { last = max(last, stamp) }
}
