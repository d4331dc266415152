import CXXHash
import Synchronization

/// The tags of an entry, stored as 64-bit hashes. If two tags collide (one pair in 10^19), removing one removes both.
final class EntryTags: @unchecked Sendable, Equatable {
  // Unchecked: the memory behind the pointer never changes, and lives as long as this.

  let hashes: TagHashes

  private init(_ hashes: some Collection<UInt64>) {
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: TagHashes.length(hashes.count), alignment: 8)
    bytes.storeBytes(of: UInt16(hashes.count).littleEndian, as: UInt16.self)
    for (index, hash) in hashes.enumerated() {
      bytes.storeBytes(of: hash.littleEndian, toByteOffset: 2 + 8 * index, as: UInt64.self)
    }
    self.hashes = TagHashes(at: bytes)
  }

  convenience init(copying hashes: TagHashes) { self.init(hashes) }

  deinit { UnsafeMutableRawPointer(mutating: hashes.base).deallocate() }

  /// Returns `nil` without tags. Throws `.invalidArgument` for more than ``TagHashes/greatestCount``.
  static func make(_ tags: [String]) throws(CacheError) -> EntryTags? {
    if tags.isEmpty { return nil }
    return try make(hashes: tags.map(hash))
  }

  /// Takes the hashes in any order.
  static func make(hashes: [UInt64]) throws(CacheError) -> EntryTags? {
    if hashes.isEmpty { return nil }
    let hashes = Set(hashes).sorted()
    guard hashes.count <= TagHashes.greatestCount else {
      throw CacheError(
        .invalidArgument,
        "An entry has \(TagHashes.greatestCount) tags at most, not \(hashes.count). Tag it with what groups more.")
    }
    return EntryTags(hashes)
  }

  /// XXH3, with another seed than for keys.
  static func hash(_ tag: String) -> UInt64 {
    withUTF8Bytes(of: tag) { cxxhash_64($0.baseAddress, $0.count, 0x7461_6773) }
  }

  static func == (first: EntryTags, second: EntryTags) -> Bool { first.hashes.elementsEqual(second.hashes) }
}

/// The tags of an entry in its record: their number in two bytes, and eight bytes of hash for each. Nonempty, sorted
/// and unique, unless forged. Refers to the bytes of the record or ``EntryTags``, and is valid as long as those.
struct TagHashes: RandomAccessCollection {
  static let greatestCount = 64

  let base: UnsafeRawPointer

  /// Returns `nil` unless the bytes begin with tags.
  init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= 2, let base = bytes.baseAddress else { return nil }
    self.base = base
    guard 1...Self.greatestCount ~= count, bytes.count >= length else { return nil }
  }

  init(at base: UnsafeRawPointer) { self.base = base }

  var count: Int { Int(UInt16(littleEndian: base.loadUnaligned(as: UInt16.self))) }
  var startIndex: Int { 0 }
  var endIndex: Int { count }
  var length: Int { Self.length(count) }

  static func length(_ count: Int) -> Int { count == 0 ? 0 : 2 + 8 * count }

  subscript(index: Int) -> UInt64 {
    UInt64(littleEndian: base.loadUnaligned(fromByteOffset: 2 + 8 * index, as: UInt64.self))
  }
}

/// The database's overall state of removals by tag. A separate record per removed tag holds the removal's stamp, which
/// hides older entries with that tag until upkeep deletes them.
struct TagStatus: Equatable {
  /// The stamp of the last removal, or 0.
  var last: UInt64 = 0
  /// Upkeep has deleted the entries of removals up to this stamp.
  var swept: UInt64 = 0
  /// Removals up to this stamp may be forgotten, so tagged writes that old, if committed late, are rejected.
  var forgotten: UInt64 = 0

  var isSweepDue: Bool { last > swept }

  private static let size = 24
  static let key: [UInt8] = [DatabaseKey.reservedMarker, UInt8(ascii: "t")]

  init() {}

  /// Reads a record; a malformed one counts as empty.
  init(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == Self.size else { return }
    func load(_ offset: Int) -> UInt64 {
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }
    let (last, swept, forgotten) = (load(0), load(8), load(16))
    guard last < StampClock.foundLimit, swept <= last, forgotten <= swept else { return }
    (self.last, self.swept, self.forgotten) = (last, swept, forgotten)
  }

  var stored: [UInt8] {
    [last, swept, forgotten].flatMap { word in withUnsafeBytes(of: word.littleEndian) { Array($0) } }
  }

  // MARK: The records of single tags: `FF`, `t` and the tag's hash, and a stamp

  static func key(ofTag hash: UInt64) -> [UInt8] { key + withUnsafeBytes(of: hash.bigEndian) { Array($0) } }

  static func tag(ofKey key: UnsafeRawBufferPointer) -> UInt64? {
    guard key.count == 10, key.starts(with: Self.key) else { return nil }
    return UInt64(bigEndian: key.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
  }

  static func stamp(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    guard bytes.count == 8 else { return 0 }
    let stamp = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
    return stamp < StampClock.foundLimit ? stamp : 0
  }
}

/// The tags of an entry in memory, and the removals that it has survived.
final class TagMark: Sendable {
  let tags: EntryTags
  let stamp: UInt64
  /// The first tag.
  private let first: UInt64
  private let isAlone: Bool
  /// The stamp of the last removal known not to affect the entry; initially its own.
  private let outlived: Atomic<UInt64>

  init(_ tags: EntryTags, stamp: UInt64) {
    self.tags = tags
    self.stamp = stamp
    first = tags.hashes[0]
    isAlone = tags.hashes.count == 1
    outlived = Atomic(stamp)
  }

  /// Whether this process has removed none of the tags since the entry was written or checked on the disk.
  @inline(__always)
  func isUntouched(by removals: TagRemovals.Words) -> Bool {
    let latest = isAlone ? removals.latest(of: first) : removals.latest(of: tags)
    return latest <= outlived.load(ordering: .relaxed)
  }

  /// Records that the entry survived the removals up to a stamp.
  func noteOutlived(_ stamp: UInt64) { outlived.max(stamp, ordering: .relaxed) }
}

/// This process's latest removals by tag, which clear most entries with one comparison per tag. Tags share a word with
/// others of the same of 4,096 groups; for an entry that is not cleared, ask the journal and the database.
///
/// Words are set under the journal's lock, at the moment of the removal, and only grow.
final class TagRemovals: @unchecked Sendable {
  // Unchecked because of the pointer, which leads to the table's atomics.

  /// The words without reference counting, valid for the lifetime of the ``TagRemovals``.
  struct Words {
    fileprivate let base: UnsafeMutablePointer<Atomic<UInt64>>

    fileprivate static let groupBits = 12

    @inline(__always)
    fileprivate func word(_ hash: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> {
      base + Int(truncatingIfNeeded: hash &>> UInt64(64 - Self.groupBits))
    }

    /// The stamp of the latest possible removal by the tag, or 0.
    @inline(__always)
    func latest(of hash: UInt64) -> UInt64 { word(hash).pointee.load(ordering: .acquiring) }

    func latest(of tags: EntryTags) -> UInt64 { tags.hashes.reduce(0) { max($0, latest(of: $1)) } }
  }

  private let table = AtomicTable(count: 1 << Words.groupBits)
  let words: Words
  private let met = Atomic<Bool>(false)

  init() { words = Words(base: table.words) }

  /// Requires the journal's lock.
  func note(_ hash: UInt64, stamp: UInt64) {
    let word = words.word(hash)
    if word.pointee.load(ordering: .relaxed) < stamp { word.pointee.store(stamp, ordering: .releasing) }
  }

  var areUsed: Bool { met.load(ordering: .acquiring) }

  func noteUse() { if !areUsed { met.store(true, ordering: .releasing) } }
}

/// Atomic words, initially 0, that live as long as this object.
final class AtomicTable: @unchecked Sendable {
  // Unchecked: the pointer leads to atomics.

  let words: UnsafeMutablePointer<Atomic<UInt64>>
  let count: Int

  init(count: Int) {
    self.count = count
    words = .allocate(capacity: count)
    for index in 0..<count { (words + index).initialize(to: Atomic(0)) }
  }

  deinit {
    words.deinitialize(count: count)
    words.deallocate()
  }
}
