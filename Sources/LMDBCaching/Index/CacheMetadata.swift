import Platform

/// The record of the cache's totals, written in every transaction.
struct CacheMetadata {
  static let size = 96
  static let version: UInt32 = 1
  private static let costLimit = Int128(1) << 126
  /// More entries than any disk holds, and far from an overflow.
  private static let countLimit = Int.max / 2
  static let key: [UInt8] = [DatabaseKey.reservedMarker, UInt8(ascii: "m")]

  var durability: Durability
  /// The boot that `stampBase` belongs to.
  var boot = BootIdentifier(high: 0, low: 0)
  /// Added to the monotonic clock to make stamps, by all processes of a boot.
  var stampBase: UInt64 = 0
  var lastStamp: UInt64 = 0
  /// `removeAll` removed writes with this stamp or an older one.
  var clearStamp: UInt64 = 0
  /// Includes expired entries.
  var count = 0
  /// The sum of all costs. Never overflows, so that it stays exact: ``costLimit`` exceeds the cost of 2^62 entries.
  var cost: Int128 = 0
  /// The entries with an expiry.
  var expiring = 0
  /// The sum of ``RecordHeader/digest(of:)`` over the entries: it alone reveals a page that reverted to an older one.
  var digest: UInt64 = 0

  enum Reading {
    case metadata(CacheMetadata)
    case newerVersion(UInt32)
    case corrupted
  }

  static func read(_ bytes: ByteView) -> Reading {
    guard bytes.count >= 16 else { return .corrupted }
    let version: UInt32 = bytes.load(8)
    if version > Self.version { return .newerVersion(version) }
    guard version == Self.version, bytes.count == size,
      bytes.load(0, as: UInt64.self) == bytes[8...].hash(seed: 0),
      let durability = Durability(rawValue: bytes[12])
    else { return .corrupted }
    var metadata = CacheMetadata(durability: durability)
    metadata.boot = BootIdentifier(high: bytes.load(16), low: bytes.load(24))
    metadata.stampBase = bytes.load(32)
    metadata.lastStamp = bytes.load(40)
    metadata.clearStamp = bytes.load(48)
    metadata.count = bytes.load(56)
    metadata.cost = bytes.load(64)
    metadata.expiring = bytes.load(80)
    metadata.digest = bytes.load(88)
    return metadata.isPlausible ? .metadata(metadata) : .corrupted
  }

  var stored: [UInt8] {
    var stored = [UInt8](repeating: 0, count: Self.size)
    stored.withMutableBytes(write)
    return stored
  }

  private func write(to bytes: MutableByteView) {
    bytes.store(Self.version, at: 8)
    bytes.store(durability.rawValue, at: 12)
    bytes.store(boot.high, at: 16)
    bytes.store(boot.low, at: 24)
    bytes.store(stampBase, at: 32)
    bytes.store(lastStamp, at: 40)
    bytes.store(clearStamp, at: 48)
    bytes.store(count, at: 56)
    bytes.store(cost, at: 64)
    bytes.store(expiring, at: 80)
    bytes.store(digest, at: 88)
    Self.seal(bytes)
  }

  var totalCost: Int { Int(clamping: cost) }

  /// Whether the values are valid. A checksum only rules out accidents: any process with write access can forge one.
  private var isPlausible: Bool {
    (0..<Self.countLimit).contains(count) && (0..<Self.costLimit).contains(cost) && (0...count).contains(expiring)
      && lastStamp < StampClock.foundLimit && clearStamp <= lastStamp && stampBase < StampClock.foundLimit
  }

  static func seal(_ bytes: MutableByteView) {
    if bytes.count >= size { bytes.store(ByteView(bytes[8..<size]).hash(seed: 0)) }
  }

  /// Replaces a record's contribution to the digest.
  mutating func replace(_ old: UInt64, by new: UInt64) { digest = digest &- old &+ new }

  mutating func add(_ header: RecordHeader) {
    count += 1
    cost += Int128(header.cost)
    if header.expires != 0 { expiring += 1 }
  }

  /// The cost of a record without a header is unknown.
  mutating func subtractUnreadable() {
    count = max(0, count - 1)
    expiring = min(expiring, count)
  }

  mutating func subtract(_ header: RecordHeader) {
    count = max(0, count - 1)
    cost = max(0, cost - Int128(header.cost))
    if header.expires != 0 { expiring = max(0, expiring - 1) }
  }
}

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
