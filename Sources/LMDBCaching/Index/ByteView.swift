import CPlatform
import CXXHash
import CXXHashWide
import Foundation
import LMDB
import Platform
import Synchronization

/// Bytes of another owner, such as a record in the map. As `RawSpan`, but structures can hold it.
///
/// Safe because every access is within its bounds, and the lender says how long it is valid: during a call, or as long
/// as an owner.
@safe @frozen @usableFromInline
struct ByteView: Sequence, @unchecked Sendable {
  // Unchecked: nobody writes to bytes while they are lent.

  @usableFromInline let buffer: UnsafeRawBufferPointer

  @inline(__always)
  init(_ buffer: UnsafeRawBufferPointer) { unsafe self.buffer = unsafe buffer }

  @inline(__always)
  init(_ bytes: MutableByteView) { unsafe buffer = unsafe UnsafeRawBufferPointer(bytes.buffer) }

  static var empty: ByteView { unsafe ByteView(UnsafeRawBufferPointer(start: nil, count: 0)) }

  @inlinable @inline(__always)
  var count: Int { unsafe buffer.count }
  var isEmpty: Bool { count == 0 }
  var first: UInt8? { isEmpty ? nil : self[0] }

  @inline(__always)
  subscript(offset: Int) -> UInt8 { load(offset) }

  @inline(__always)
  subscript(range: some RangeExpression<Int>) -> ByteView {
    unsafe ByteView(UnsafeRawBufferPointer(rebasing: buffer[range.checked(within: count)]))
  }

  /// A little-endian number.
  @inline(__always)
  func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int = 0, as type: T.Type = T.self) -> T {
    T(littleEndian: loadBits(offset))
  }

  @inline(__always)
  func loadBits<T: BitwiseCopyable>(_ offset: Int = 0, as type: T.Type = T.self) -> T {
    precondition(offset >= 0 && offset <= count &- MemoryLayout<T>.size)
    return unsafe buffer.loadUnaligned(fromByteOffset: offset, as: T.self)
  }

  /// XXH3; ``wideHash(seed:)`` is the same, and faster for 512 bytes and more.
  @inline(__always)
  func hash(seed: UInt64) -> UInt64 { unsafe cxxhash_64(buffer.baseAddress, count, seed) }

  @inline(__always)
  func wideHash(seed: UInt64) -> UInt64 { unsafe cxxhash_wide_64(buffer.baseAddress, count, seed) }

  /// Uses memcmp; `elementsEqual` compares byte by byte.
  @inline(__always)
  func elementsEqual(fast other: ByteView) -> Bool {
    unsafe count == other.count && buffer.hasPrefix(other.buffer)
  }

  @inline(__always)
  func hasPrefix(_ prefix: ByteView) -> Bool { unsafe buffer.hasPrefix(prefix.buffer) }

  /// The order of LMDB's keys.
  @inline(__always)
  func precedes(_ other: ByteView) -> Bool { unsafe buffer.precedes(other.buffer) }

  /// Where it begins within `whole`, a part of which it is.
  func offset(in whole: ByteView) -> Int {
    let offset = unsafe UInt(bitPattern: buffer.baseAddress) &- UInt(bitPattern: whole.buffer.baseAddress)
    precondition(offset <= UInt(whole.count))
    return Int(offset)
  }

  @usableFromInline
  func makeIterator() -> LazyMapSequence<Range<Int>, UInt8>.Iterator {
    (0..<count).lazy.map { self[$0] }.makeIterator()
  }

  @usableFromInline
  func withContiguousStorageIfAvailable<R>(_ body: (UnsafeBufferPointer<UInt8>) throws -> R) rethrows -> R? {
    try unsafe body(buffer.assumingMemoryBound(to: UInt8.self))
  }
}

/// Memory of another owner to write to; see ``ByteView``.
@safe
struct MutableByteView {
  let buffer: UnsafeMutableRawBufferPointer

  @inline(__always)
  init(_ buffer: UnsafeMutableRawBufferPointer) { unsafe self.buffer = unsafe buffer }

  @inline(__always)
  init(start: UnsafeMutableRawPointer?, count: Int) {
    unsafe buffer = unsafe UnsafeMutableRawBufferPointer(start: start, count: count)
  }

  static var empty: MutableByteView { unsafe MutableByteView(start: nil, count: 0) }

  @inline(__always)
  var count: Int { unsafe buffer.count }

  @inline(__always)
  subscript(range: some RangeExpression<Int>) -> MutableByteView {
    unsafe MutableByteView(UnsafeMutableRawBufferPointer(rebasing: buffer[range.checked(within: count)]))
  }

  /// Writes a number, little endian.
  @inline(__always)
  func store<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int = 0) {
    precondition(offset >= 0 && offset <= count &- MemoryLayout<T>.size)
    unsafe buffer.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }

  @inline(__always)
  func copy(_ bytes: ByteView, at offset: Int = 0) {
    precondition(offset >= 0 && offset <= count &- bytes.count)
    guard let base = unsafe buffer.baseAddress, let source = unsafe bytes.buffer.baseAddress else { return }
    unsafe cplatform_copy(base + offset, source, bytes.count)
  }

  /// An aligned word that other processes may write.
  func atomic(at offset: Int) -> MemoryReference<Atomic<UInt32>> {
    precondition(offset >= 0 && offset <= count &- 4 && offset % 4 == 0)
    return unsafe MemoryReference((buffer.baseAddress! + offset).assumingMemoryBound(to: Atomic<UInt32>.self))
  }

  func clear() { if let base = unsafe buffer.baseAddress { unsafe cplatform_clear(base, count) } }
}

/// Memory from `malloc`, aligned to 16, that is freed at the end, or becomes `Data` without a copy.
@safe
struct OwnedBytes: ~Copyable {
  /// Valid until it grows.
  private(set) var memory = MutableByteView.empty

  @inline(__always)
  init(capacity: Int = 0) { if capacity > 0 { grow(to: capacity) } }

  /// For a size that a file claims.
  init(count: Int, for path: String) throws(SystemError) {
    memory = unsafe MutableByteView(try .allocated(byteCount: count, for: path))
  }

  deinit { unsafe free(memory.buffer.baseAddress) }

  @inline(__always)
  var bytes: ByteView { ByteView(memory) }

  /// Grows to that size, or to twice the present one; keeps the contents.
  mutating func grow(to count: Int) {
    let count = max(count, 2 * memory.count)
    let moved = unsafe realloc(memory.buffer.baseAddress, count)
    if unsafe moved == nil { fatalError("no memory for \(count) bytes") }
    memory = unsafe MutableByteView(start: moved, count: count)
  }

  /// Replaces the contents.
  @inline(__always)
  mutating func copy(_ source: ByteView) {
    unsafe free(memory.buffer.baseAddress)
    memory = .empty
    if source.isEmpty { return }
    grow(to: source.count)
    memory.copy(source)
  }

  @inline(__always)
  mutating func takeData() -> Data {
    guard let base = unsafe memory.buffer.baseAddress else { return Data() }
    defer { memory = .empty }
    return unsafe Data(bytesNoCopy: base, count: memory.count, deallocator: .free)
  }
}

extension RangeExpression<Int> {
  @inline(__always)
  fileprivate func checked(within count: Int) -> Range<Int> {
    let range = relative(to: 0..<count)
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    return range
  }
}

extension [UInt8] {
  @inline(__always)
  init(_ bytes: ByteView) { unsafe self.init(bytes.buffer) }
}

extension Data {
  @inline(__always)
  init(_ bytes: ByteView) { unsafe self.init(bytes.buffer) }
}

extension String {
  /// Replaces invalid UTF-8. Bytes bound to a type take three quarters of the time of raw ones.
  @inline(__always)
  init(utf8 bytes: ByteView) {
    unsafe self.init(decoding: bytes.buffer.assumingMemoryBound(to: UInt8.self), as: UTF8.self)
  }
}

extension FixedWidthInteger {
  /// The bytes in memory.
  var bytes: [UInt8] { unsafe withUnsafeBytes(of: self) { unsafe Array($0) } }
}

extension EntryTransaction where Self: ~Copyable {
  @inline(__always)
  func withValue<R>(forKey key: ByteView, _ body: (ByteView) throws(LMDBError) -> R) throws(LMDBError) -> R? {
    try unsafe withValue(forKey: key.buffer, in: .main) { (raw) throws(LMDBError) in try unsafe body(ByteView(raw)) }
  }
}

extension WriteTransaction {
  func put(_ value: ByteView, forKey key: ByteView) throws(LMDBError) {
    try unsafe put(value.buffer, forKey: key.buffer)
  }

  func remove(forKey key: ByteView) throws(LMDBError) -> Bool { try unsafe remove(forKey: key.buffer) }
}

extension Cursor {
  func seek(toKeyAtOrAfter key: ByteView) throws(LMDBError) -> Entry? { try unsafe seek(toKeyAtOrAfter: key.buffer) }
}

extension Cursor.Entry {
  var keyBytes: ByteView { unsafe ByteView(key) }
  var valueBytes: ByteView { unsafe ByteView(value) }
}

// The standard library's closures over bytes rethrow any error; these keep its type.

extension ContiguousBytes {
  @inline(__always)
  func withBytes<R, E: Error>(_ body: (ByteView) throws(E) -> R) throws(E) -> R {
    try unsafe withUnsafeBytes { bytes in outcome { () throws(E) in try unsafe body(ByteView(bytes)) } }.get()
  }
}

extension [UInt8] {
  @inline(__always)
  mutating func withMutableBytes<R, E: Error>(_ body: (MutableByteView) throws(E) -> R) throws(E) -> R {
    try unsafe withUnsafeMutableBytes { raw in outcome { () throws(E) in try unsafe body(MutableByteView(raw)) } }.get()
  }
}

/// A stack buffer aligned to 16.
@inline(__always)
func withStackBytes<R, E: Error>(_ count: Int, _ body: (MutableByteView) throws(E) -> R) throws(E) -> R {
  try unsafe withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { bytes in
    outcome { () throws(E) in try unsafe body(MutableByteView(bytes)) }
  }.get()
}

/// The UTF-8 bytes that identify a cache key, without a copy for native strings.
@inline(__always)
func withUTF8Bytes<R, E: Error>(of string: String, _ body: (ByteView) throws(E) -> R) throws(E) -> R {
  let fast = unsafe string.utf8.withContiguousStorageIfAvailable { bytes in
    outcome { () throws(E) in try unsafe body(ByteView(UnsafeRawBufferPointer(bytes))) }
  }
  if let fast { return try fast.get() }
  return try Array(string.utf8).withBytes(body)
}
