public import Synchronization

/// The tags of an entry, stored as 64-bit hashes. If two tags collide (one pair in 10^19), removing one removes both.
final class EntryTags: @unchecked Sendable, Equatable {
  // Unchecked: the bytes never change.

  let hashes: TagHashes
  private let owned: OwnedBytes

  private init(_ hashes: some Collection<UInt64>) {
    owned = OwnedBytes(capacity: TagHashes.length(hashes.count))
    owned.memory.store(UInt16(hashes.count))
    for (index, hash) in hashes.enumerated() { owned.memory.store(hash, at: 2 + 8 * index) }
    self.hashes = TagHashes(owned.bytes)!
  }

  convenience init(copying hashes: TagHashes) { self.init(hashes) }

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
    withUTF8Bytes(of: tag) { $0.hash(seed: 0x7461_6773) }
  }

  static func == (first: EntryTags, second: EntryTags) -> Bool { first.hashes.elementsEqual(second.hashes) }
}

/// The tags of an entry in its record: their number in two bytes, and eight bytes of hash for each. Nonempty, sorted
/// and unique, unless forged. Refers to the bytes of the record or ``EntryTags``, and is valid as long as those.
@safe
struct TagHashes: RandomAccessCollection, @unchecked Sendable {
  static let greatestCount = 64

  // @unchecked: as `ByteView`. Without the length, which the memory has: each header holds one.
  private let base: UnsafeRawPointer

  /// Returns `nil` unless the bytes begin with tags.
  init?(_ bytes: ByteView) {
    guard bytes.count >= 2 else { return nil }
    let length = Self.length(Int(bytes.load(as: UInt16.self)))
    guard Self.length(1)...Self.length(Self.greatestCount) ~= length, bytes.count >= length else { return nil }
    unsafe base = unsafe bytes.buffer.baseAddress.unsafelyUnwrapped
  }

  var count: Int { Int(unsafe base.loadUnaligned(as: UInt16.self).littleEndian) }
  var startIndex: Int { 0 }
  var endIndex: Int { count }
  var length: Int { Self.length(count) }
  var bytes: ByteView { unsafe ByteView(UnsafeRawBufferPointer(start: base, count: length)) }

  static func length(_ count: Int) -> Int { count == 0 ? 0 : 2 + 8 * count }

  subscript(index: Int) -> UInt64 { bytes.load(2 + 8 * index) }
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
  init(_ bytes: ByteView) {
    guard bytes.count == Self.size else { return }
    let (last, swept, forgotten) = (
      bytes.load(0, as: UInt64.self), bytes.load(8, as: UInt64.self), bytes.load(16, as: UInt64.self)
    )
    guard last < StampClock.foundLimit, swept <= last, forgotten <= swept else { return }
    (self.last, self.swept, self.forgotten) = (last, swept, forgotten)
  }

  var stored: [UInt8] { [last, swept, forgotten].flatMap { $0.littleEndian.bytes } }

  // MARK: The records of single tags: `FF`, `t` and the tag's hash, and a stamp

  static func key(ofTag hash: UInt64) -> [UInt8] { key + hash.bigEndian.bytes }

  static func tag(ofKey key: ByteView) -> UInt64? {
    guard key.count == 10, key.starts(with: Self.key) else { return nil }
    return key.load(2, as: UInt64.self).byteSwapped
  }

  static func stamp(_ bytes: ByteView) -> UInt64 {
    guard bytes.count == 8 else { return 0 }
    let stamp = bytes.load(as: UInt64.self)
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
final class TagRemovals: Sendable {
  /// The words without reference counting, valid for the lifetime of the ``TagRemovals``.
  struct Words {
    fileprivate let words: AtomicWords

    fileprivate static let groupBits = 12

    @inline(__always)
    fileprivate func word(_ hash: UInt64) -> MemoryReference<Atomic<UInt64>> {
      words[Int(truncatingIfNeeded: hash &>> UInt64(64 - Self.groupBits))]
    }

    /// The stamp of the latest possible removal by the tag, or 0.
    @inline(__always)
    func latest(of hash: UInt64) -> UInt64 { word(hash).pointee.load(ordering: .acquiring) }

    func latest(of tags: EntryTags) -> UInt64 { tags.hashes.reduce(0) { max($0, latest(of: $1)) } }
  }

  private let table = AtomicTable(count: 1 << Words.groupBits)
  let words: Words
  private let met = Atomic<Bool>(false)

  init() { words = Words(words: table.words) }

  /// Requires the journal's lock.
  func note(_ hash: UInt64, stamp: UInt64) {
    let word = words.word(hash)
    if word.pointee.load(ordering: .relaxed) < stamp { word.pointee.store(stamp, ordering: .releasing) }
  }

  var areUsed: Bool { met.load(ordering: .acquiring) }

  func noteUse() { if !areUsed { met.store(true, ordering: .releasing) } }
}

/// Atomic words, initially 0, that live as long as this object.
final class AtomicTable: Sendable {
  /// Valid as long as this object.
  let words: AtomicWords

  init(count: Int) {
    words = unsafe AtomicWords(base: .allocate(capacity: count), count: count)
    for index in 0..<count { words[index].initialize(to: Atomic(0)) }
  }

  deinit { unsafe words.base.deallocate() }
}

/// The words of an ``AtomicTable``, without a reference to it.
@safe @frozen @usableFromInline
struct AtomicWords: Sendable {
  // Unchecked: it leads to atomics.
  @usableFromInline nonisolated(unsafe) let base: UnsafeMutablePointer<Atomic<UInt64>>
  @usableFromInline let count: Int

  @inlinable @inline(__always)
  subscript(index: Int) -> MemoryReference<Atomic<UInt64>> {
    precondition(index >= 0 && index < count)
    return unsafe MemoryReference(base + index)
  }
}
