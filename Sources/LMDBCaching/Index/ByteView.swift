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
  // Unchecked: while bytes are lent only the lender writes to them, on its thread or with its lock held.

  private let base: UnsafeRawPointer
  @usableFromInline let count: Int

  @inline(__always)
  init(_ buffer: UnsafeRawBufferPointer) {
    unsafe self.init(buffer.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped, buffer.count)
  }

  @inline(__always)
  private init(_ base: UnsafeRawPointer, _ count: Int) {
    unsafe self.base = unsafe base
    self.count = count
  }

  @inline(__always)
  init(_ bytes: MutableByteView) { unsafe self.init(UnsafeRawBufferPointer(bytes.buffer)) }

  static var empty: ByteView { unsafe ByteView(UnsafeRawBufferPointer(start: nil, count: 0)) }

  @inline(__always)
  var buffer: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(start: base, count: count) }

  var isEmpty: Bool { count == 0 }
  var first: UInt8? { isEmpty ? nil : self[0] }

  @inline(__always)
  subscript(offset: Int) -> UInt8 { load(offset) }

  @inline(__always)
  subscript(range: some RangeExpression<Int>) -> ByteView {
    let range = range.checked(within: count)
    return unsafe ByteView(base + range.lowerBound, range.count)
  }

  /// A little-endian number.
  @inline(__always)
  func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int = 0, as type: T.Type = T.self) -> T {
    T(littleEndian: loadBits(offset))
  }

  @inline(__always)
  func loadBits<T: BitwiseCopyable>(_ offset: Int = 0, as type: T.Type = T.self) -> T {
    precondition(offset >= 0 && offset <= count &- MemoryLayout<T>.size)
    return unsafe base.loadUnaligned(fromByteOffset: offset, as: T.self)
  }

  /// XXH3; ``wideHash(seed:)`` is the same, and faster for 512 bytes and more.
  @inline(__always)
  func hash(seed: UInt64) -> UInt64 { unsafe cxxhash_64(base, count, seed) }

  @inline(__always)
  func wideHash(seed: UInt64) -> UInt64 { unsafe cxxhash_wide_64(base, count, seed) }

  /// Uses memcmp; `elementsEqual` compares byte by byte.
  @inline(__always)
  func elementsEqual(fast other: ByteView) -> Bool {
    unsafe count == other.count && buffer.hasPrefix(other.buffer)
  }

  @inline(__always)
  func hasPrefix(_ prefix: ByteView) -> Bool { unsafe buffer.hasPrefix(prefix.buffer) }

  func hasPrefix(_ prefix: [UInt8]) -> Bool { prefix.withBytes { hasPrefix($0) } }

  /// The order of LMDB's keys.
  @inline(__always)
  func precedes(_ other: ByteView) -> Bool { unsafe buffer.precedes(other.buffer) }

  /// The offset of this part of `whole`.
  func offset(in whole: ByteView) -> Int {
    let offset = unsafe UInt(bitPattern: base) &- UInt(bitPattern: whole.base)
    precondition(offset <= UInt(whole.count))
    return Int(offset)
  }

  @usableFromInline
  struct Iterator: IteratorProtocol {
    fileprivate let view: ByteView
    fileprivate var offset = 0

    @usableFromInline
    mutating func next() -> UInt8? {
      if offset == view.count { return nil }
      defer { offset &+= 1 }
      return view[offset]
    }
  }

  @usableFromInline
  func makeIterator() -> Iterator { Iterator(view: self) }

  @usableFromInline
  func withContiguousStorageIfAvailable<R>(_ body: (UnsafeBufferPointer<UInt8>) throws -> R) rethrows -> R? {
    try unsafe body(buffer.assumingMemoryBound(to: UInt8.self))
  }
}

/// Memory of another owner to write to; see ``ByteView``.
@safe
struct MutableByteView {
  private let base: UnsafeMutableRawPointer?
  let count: Int

  @inline(__always)
  init(_ buffer: UnsafeMutableRawBufferPointer) { unsafe self.init(start: buffer.baseAddress, count: buffer.count) }

  @inline(__always)
  init(start: UnsafeMutableRawPointer?, count: Int) {
    unsafe base = unsafe start
    self.count = count
  }

  static var empty: MutableByteView { unsafe MutableByteView(start: nil, count: 0) }

  @inline(__always)
  var buffer: UnsafeMutableRawBufferPointer { unsafe UnsafeMutableRawBufferPointer(start: base, count: count) }

  @inline(__always)
  subscript(range: some RangeExpression<Int>) -> MutableByteView {
    let range = range.checked(within: count)
    guard let base = unsafe base else { return self }
    return unsafe MutableByteView(start: base + range.lowerBound, count: range.count)
  }

  /// Writes a number, little endian.
  @inline(__always)
  func store<T: FixedWidthInteger & BitwiseCopyable>(_ value: T, at offset: Int = 0) {
    precondition(offset >= 0 && offset <= count &- MemoryLayout<T>.size)
    unsafe base.unsafelyUnwrapped.storeBytes(of: value.littleEndian, toByteOffset: offset, as: T.self)
  }

  @inline(__always)
  func copy(_ bytes: ByteView, at offset: Int = 0) {
    precondition(offset >= 0 && offset <= count &- bytes.count)
    guard let base = unsafe base else { return }
    unsafe cplatform_copy(base + offset, bytes.buffer.baseAddress.unsafelyUnwrapped, bytes.count)
  }

  /// An aligned word that other processes may write.
  func atomic(at offset: Int) -> MemoryReference<Atomic<UInt32>> {
    precondition(offset >= 0 && offset <= count &- 4 && offset % 4 == 0)
    return unsafe MemoryReference((base.unsafelyUnwrapped + offset).assumingMemoryBound(to: Atomic<UInt32>.self))
  }

  func clear() { if let base = unsafe base { unsafe cplatform_clear(base, count) } }
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

  /// Zeros for a size that a file claims. Pages that are never written to take no memory.
  init(zeros count: Int, for path: String) throws(SystemError) {
    guard let base = unsafe calloc(1, max(count, 1)) else { throw SystemError("malloc", path, errno: ENOMEM) }
    memory = unsafe MutableByteView(start: base, count: count)
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
