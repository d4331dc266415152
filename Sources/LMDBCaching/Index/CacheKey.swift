public import CXXHash
import LMDB

/// A key with its UTF-8 bytes, obtained once for all layers.
struct CacheKey {
  let string: String
  let utf8: ByteView
  /// The hash of ``KeyIdentity``. Computed at every use, because most disk reads need none.
  @inline(__always)
  var hash: UInt64 { utf8.hash(seed: KeyIdentity.seed) }

  @inline(__always)
  static func with<R, E: Error>(_ key: String, _ body: (CacheKey) throws(E) -> R) throws(E) -> R {
    try withUTF8Bytes(of: key) { (utf8) throws(E) in try body(CacheKey(string: key, utf8: utf8)) }
  }
}

/// Maps cache keys, any UTF-8, to LMDB keys of 1 … 511 bytes. UTF-8 never contains FE or FF, so they mark other kinds:
///
/// - 1 … 511 bytes: the key itself,
/// - the empty key: `FE`,
/// - over 511 bytes: `FE`, the first 494 bytes, a 128-bit digest; the record holds the key, which readers compare,
/// - `FF` and more: the cache's internal records.
struct DatabaseKey: Sendable {
  static let maximumLength = 511
  static let longMarker: UInt8 = 0xFE
  static let reservedMarker: UInt8 = 0xFF
  private static let digestLength = 16
  static let longPrefixLength = maximumLength - 1 - digestLength

  /// 128-bit XXH3, or a test's function.
  var digest: @Sendable (ByteView) -> (UInt64, UInt64) = { key in
    let digest = unsafe cxxhash_128(key.buffer.baseAddress, key.count)
    return (digest.low, digest.high)
  }

  /// Whether the cache key is the LMDB key.
  @inline(__always)
  static func isPlain(_ key: ByteView) -> Bool { UInt(bitPattern: key.count &- 1) < UInt(maximumLength) }

  @inline(__always)
  func withDatabaseKey<R, E: Error>(_ key: ByteView, _ body: (ByteView) throws(E) -> R) throws(E) -> R {
    if Self.isPlain(key) { return try body(key) }
    return try withLongKey(key, body)
  }

  @inline(never)
  private func withLongKey<R, E: Error>(_ key: ByteView, _ body: (ByteView) throws(E) -> R) throws(E) -> R {
    try withStackBytes(Self.maximumLength) { (buffer) throws(E) in
      let count = write(key, to: buffer)
      return try body(ByteView(buffer[..<count]))
    }
  }

  /// Writes the LMDB key for a key that is not plain; returns its length.
  func write(_ key: ByteView, to buffer: MutableByteView) -> Int {
    buffer.store(Self.longMarker)
    if key.isEmpty { return 1 }
    buffer.copy(key[..<Self.longPrefixLength], at: 1)
    let digest = digest(key)
    buffer.store(digest.0.byteSwapped, at: 1 + Self.longPrefixLength)
    buffer.store(digest.1.byteSwapped, at: 9 + Self.longPrefixLength)
    return Self.maximumLength
  }

  func leads(_ key: ByteView, to databaseKey: ByteView) -> Bool {
    withDatabaseKey(key) { $0.elementsEqual(fast: databaseKey) }
  }

  /// The cache key of a record, or `nil` if this package cannot have written the pair.
  static func key(ofDatabaseKey databaseKey: ByteView, record: ByteView, header: RecordHeader) -> ByteView? {
    guard databaseKey.first == longMarker else { return header.keyLength == 0 ? databaseKey : nil }
    return record[header.keyOffset..<header.payloadOffset]
  }
}

/// The memory of database keys that are not their cache keys.
struct OwnedKeys: ~Copyable {
  private var memory: [MutableByteView] = []

  deinit { for key in memory { unsafe key.buffer.deallocate() } }

  /// The database key of `key`, valid as long as both.
  mutating func databaseKey(of key: ByteView, _ databaseKey: DatabaseKey) -> ByteView {
    if DatabaseKey.isPlain(key) { return key }
    let own = unsafe MutableByteView(.allocate(byteCount: DatabaseKey.maximumLength, alignment: 1))
    memory.append(own)
    return ByteView(own[..<databaseKey.write(key, to: own)])
  }
}

/// A range of LMDB keys that contains the keys with a prefix.
struct KeyRange {
  let start: [UInt8]
  /// The prefix of every key in the range.
  private let prefix: [UInt8]
  /// Whether the range is of long keys, stored under digests.
  let isLong: Bool

  /// Plain keys, then long ones, which start with the empty key.
  static func ranges(ofPrefix prefix: ByteView) -> [KeyRange] {
    let long = [DatabaseKey.longMarker] + prefix.prefix(DatabaseKey.longPrefixLength)
    return [
      KeyRange(start: Array(prefix.prefix(DatabaseKey.maximumLength)), prefix: Array(prefix), isLong: false),
      KeyRange(start: long, prefix: long, isLong: true),
    ]
  }

  func first(_ cursor: borrowing Cursor) throws(LMDBError) -> Cursor.Entry? {
    if start.isEmpty { return try cursor.first() }
    return try start.withBytes { (start) throws(LMDBError) in try cursor.seek(toKeyAtOrAfter: start) }
  }

  func contains(_ key: ByteView) -> Bool {
    guard let first = key.first else { return false }
    if !isLong && first >= DatabaseKey.longMarker { return false }
    return prefix.withBytes { key.hasPrefix($0) }
  }
}

/// Keys concatenated in one array.
struct PackedKeys {
  private var bytes: [UInt8] = []
  private var ends: [Int] = []

  var count: Int { ends.count }

  mutating func append(_ key: ByteView) {
    unsafe bytes.append(contentsOf: key.buffer)
    ends.append(bytes.count)
  }

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    ends.removeAll(keepingCapacity: true)
  }

  func withKey<R, E: Error>(_ index: Int, _ body: (ByteView) throws(E) -> R) throws(E) -> R {
    try bytes.withBytes { (bytes) throws(E) in try body(bytes[(index == 0 ? 0 : ends[index - 1])..<ends[index]]) }
  }
}

/// A key with the identity of its UTF-8; `String` compares by canonical equivalence.
package struct ByteKey: Hashable, Sendable {
  package let string: String

  package init(_ string: String) { self.string = string }

  package static func == (first: ByteKey, second: ByteKey) -> Bool { KeyIdentity.same(first.string, second.string) }

  package func hash(into hasher: inout Hasher) { hasher.combine(KeyIdentity.hash(string, seed: KeyIdentity.seed)) }
}

/// How keys are hashed and compared.
///
/// A `String` is its UTF-8 bytes, as on disk: a composed and a decomposed "é" are two keys. Other types use `Hashable`.
/// Specialization removes the checks for `String`.
@frozen @usableFromInline
package enum KeyIdentity {
  /// Random in every process, so that colliding keys cannot be chosen.
  package static let seed = UInt64.random(in: .min ... .max)

  @inlinable @inline(__always)
  package static func hash<Key: Hashable>(_ key: Key, seed: UInt64) -> UInt64 {
    if Key.self == String.self {
      return unsafe hash(string: unsafeBitCast(key, to: String.self), seed: seed)
    }
    let hash = UInt64(truncatingIfNeeded: key.hashValue)
    // A 32-bit platform's hash would leave the upper half, which selects the shard, empty.
    return Int.bitWidth == 64 ? hash : (hash ^ seed) &* 0x9E37_79B9_7F4A_7C15
  }

  @inlinable @inline(__always)
  static func hash(string: String, seed: UInt64) -> UInt64 {
    if let hash = unsafe string.utf8.withContiguousStorageIfAvailable({
      unsafe cxxhash_64($0.baseAddress, $0.count, seed)
    }) {
      return hash
    }
    return hash(bridged: string, seed: seed)
  }

  /// For strings from Objective-C that are not UTF-8.
  @usableFromInline @inline(never)
  static func hash(bridged string: String, seed: UInt64) -> UInt64 {
    var copy = string
    return copy.withUTF8 { unsafe cxxhash_64($0.baseAddress, $0.count, seed) }
  }

  @inlinable @inline(__always)
  package static func same<Key: Hashable>(_ a: Key, _ b: Key) -> Bool {
    if Key.self == String.self {
      return unsafe same(string: unsafeBitCast(a, to: String.self), unsafeBitCast(b, to: String.self))
    }
    return a == b
  }

  @inlinable @inline(__always)
  static func same(string a: String, _ b: String) -> Bool {
    // The same small string or storage.
    if unsafe unsafeBitCast(a, to: RawString.self) == unsafeBitCast(b, to: RawString.self) { return true }
    return sameBytes(a, b)
  }

  @inlinable @inline(__always)
  static func sameBytes(_ a: String, _ b: String) -> Bool {
    let same = unsafe a.utf8.withContiguousStorageIfAvailable { a in
      unsafe b.utf8.withContiguousStorageIfAvailable { b in
        unsafe a.count == b.count && equal(a.baseAddress, b.baseAddress, a.count)
      }
    }
    if case .some(.some(let same)) = same { return same }
    return sameBridged(a, b)
  }

  @usableFromInline @inline(never)
  static func sameBridged(_ a: String, _ b: String) -> Bool {
    a.utf8.elementsEqual(b.utf8)
  }

  /// `memcmp(…) == 0` for usual key lengths, without the call.
  @inlinable @inline(__always)
  static func equal(_ a: UnsafePointer<UInt8>?, _ b: UnsafePointer<UInt8>?, _ count: Int) -> Bool {
    guard let a = unsafe a, let b = unsafe b else { return true }
    let x = unsafe UnsafeRawPointer(a)
    let y = unsafe UnsafeRawPointer(b)
    if count < 8 { return unsafe equalShort(a, b, count) }
    // Whole words; the last overlaps its predecessor.
    var offset = 0
    let last = count &- 8
    while offset < last {
      if unsafe x.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        != y.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
      {
        return false
      }
      offset &+= 8
    }
    return unsafe x.loadUnaligned(fromByteOffset: last, as: UInt64.self)
      == y.loadUnaligned(fromByteOffset: last, as: UInt64.self)
  }

  @usableFromInline @inline(never)
  static func equalShort(_ a: UnsafePointer<UInt8>, _ b: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    for index in 0..<count where unsafe a[index] != b[index] { return false }
    return true
  }

  /// A string's representation, to detect the same storage.
  @frozen @usableFromInline
  struct RawString: Equatable {
    @usableFromInline let first: UInt64
    @usableFromInline let second: UInt64
  }
}
