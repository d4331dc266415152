/// Makes stamps: the order of writes among all processes that share a directory.
///
/// A stamp is nanoseconds on a clock that all processes of one boot share: the monotonic clock, and a base that is stored
/// with the cache. From one boot to the next the base is chosen so that stamps go on growing. Stamps never run ahead of
/// the clock by more than a nanosecond for each write of a batch, which is less than the write takes: a write that begins
/// in any process after another one has returned has a greater stamp.
struct StampClock {
  /// Stamps are below this bound (the year 2116); greater ones are forged or damaged.
  static let limit: UInt64 = 1 << 62
  /// Where stamps may start from: it leaves more than thirty years below ``limit``.
  static let greatestStart: UInt64 = limit - (1 << 60)
  /// What is found in the files is below this bound: nine years below ``limit``, so that what is written after it has stamps
  /// that are below ``limit`` still. Greater ones are forged.
  static let foundLimit: UInt64 = limit - (1 << 58)

  /// What is added to the monotonic clock.
  var base: UInt64
  /// The greatest stamp that is known. Every next one is greater.
  private(set) var last: UInt64

  init(base: UInt64, last: UInt64) {
    self.base = base
    self.last = last
  }

  /// The low byte of this process's stamps, so that two processes hardly ever make the same one.
  private static let processTag = UInt64.random(in: 0...0xFF)

  /// A stamp of now, for comparisons.
  func present(_ clock: CacheClock) -> UInt64 { base &+ UInt64(truncatingIfNeeded: clock.monotonic) }

  @inline(__always)
  mutating func next(_ clock: CacheClock) -> UInt64 {
    let now = present(clock) & ~0xFF | Self.processTag
    last = now > last ? now : last &+ 1
    return last
  }

  /// The stamp after the last one, for all but the first write of a batch: it needs no look at the clock.
  @inline(__always)
  mutating func following() -> UInt64 {
    last &+= 1
    return last
  }

  /// Makes every next stamp greater than one that was found.
  mutating func advance(to stamp: UInt64) { last = max(last, stamp) }
}
