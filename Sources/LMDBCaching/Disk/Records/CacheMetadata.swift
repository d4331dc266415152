import CXXHash
import Platform

/// The record that tells what the cache as a whole holds; written in every transaction.
struct CacheMetadata {
  static let size = 96
  static let version: UInt32 = 1
  private static let costLimit = Int128(1) << 126
  /// More entries than any disk holds, and far from where one more could not be counted.
  private static let countLimit = Int.max / 2
  /// `FF` and `m`.
  static let key: [UInt8] = [DatabaseKey.reservedMarker, UInt8(ascii: "m")]

  var durability: Durability
  /// The run of the operating system that `stampBase` belongs to.
  var boot = BootIdentifier(high: 0, low: 0)
  /// What is added to the monotonic clock to make stamps: one clock for all processes of a boot.
  var stampBase: UInt64 = 0
  /// The greatest stamp committed so far.
  var lastStamp: UInt64 = 0
  /// Writes with this stamp or an older one were removed by `removeAll`.
  var clearStamp: UInt64 = 0
  /// Entries, expired ones included.
  var count = 0
  /// The sum of their costs. Wide enough never to overflow, so that it is exact again when entries go. No cache gets to
  /// ``costLimit``: it is more than 2^62 entries can cost.
  var cost: Int128 = 0
  /// Those of them that expire.
  var expiring = 0
  /// The sum of ``RecordHeader/digest(of:)`` over the entries: it tells whether a page is an older version of itself,
  /// which nothing else would.
  var digest: UInt64 = 0

  init(durability: Durability) { self.durability = durability }

  enum Reading {
    case metadata(CacheMetadata)
    case newerVersion(UInt32)
    case corrupted
  }

  static func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
    guard bytes.count >= 16 else { return .corrupted }
    func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: T.Type) -> T {
      T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
    }
    let version = load(8, as: UInt32.self)
    if version > Self.version { return .newerVersion(version) }
    guard version == Self.version, bytes.count == size,
      load(0, as: UInt64.self) == cxxhash_64(bytes.baseAddress! + 8, size - 8, 0),
      let durability = Durability(rawValue: bytes[12])
    else { return .corrupted }
    var metadata = CacheMetadata(durability: durability)
    metadata.boot = BootIdentifier(high: load(16, as: UInt64.self), low: load(24, as: UInt64.self))
    metadata.stampBase = load(32, as: UInt64.self)
    metadata.lastStamp = load(40, as: UInt64.self)
    metadata.clearStamp = load(48, as: UInt64.self)
    metadata.count = load(56, as: Int.self)
    metadata.cost = load(64, as: Int128.self)
    metadata.expiring = load(80, as: Int.self)
    metadata.digest = load(88, as: UInt64.self)
    return metadata.isPlausible ? .metadata(metadata) : .corrupted
  }

  func write(to bytes: UnsafeMutableRawBufferPointer) {
    func store<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, _ offset: Int) {
      bytes.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
    }
    UnsafeMutableRawBufferPointer(rebasing: bytes[..<Self.size]).initializeMemory(as: UInt8.self, repeating: 0)
    store(Self.version, 8)
    store(durability.rawValue, 12)
    store(boot.high, 16)
    store(boot.low, 24)
    store(stampBase, 32)
    store(lastStamp, 40)
    store(clearStamp, 48)
    store(count, 56)
    store(cost, 64)
    store(expiring, 80)
    store(digest, 88)
    Self.seal(bytes)
  }

  /// The sum of the costs, `Int.max` if it is more.
  var totalCost: Int { Int(clamping: cost) }

  /// Whether a cache can have got here. A checksum says that nobody changed the record by accident; whoever can write to
  /// the directory can make one.
  private var isPlausible: Bool {
    (0..<Self.countLimit).contains(count) && (0..<Self.costLimit).contains(cost) && (0...count).contains(expiring)
      && lastStamp < StampClock.foundLimit && clearStamp <= lastStamp && stampBase < StampClock.foundLimit
  }

  /// Puts the checksum in front of what it is of.
  static func seal(_ bytes: UnsafeMutableRawBufferPointer) {
    guard bytes.count >= size, let base = bytes.baseAddress else { return }
    base.storeBytes(of: cxxhash_64(UnsafeRawPointer(base + 8), size - 8, 0).littleEndian, as: UInt64.self)
  }

  /// Takes a record's bytes in exchange for those that were there.
  mutating func replace(_ old: UInt64, by new: UInt64) { digest = digest &- old &+ new }

  mutating func add(_ header: RecordHeader) {
    count += 1
    cost += Int128(header.cost)
    if header.expires != 0 { expiring += 1 }
  }

  /// Of a record without a header it is not known what it cost.
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
