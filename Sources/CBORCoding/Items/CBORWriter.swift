import Foundation

/// Appends data items to a buffer of its own, in the forms of deterministic encoding (RFC 8949 §4.2.1): the
/// shortest heads, definite lengths, the shortest floating-point number that keeps the value.
///
/// The one thing it cannot do alone is to put the entries of a map in order: whoever writes a map's head writes the
/// entries sorted by the bytes of their encoded keys, and exactly as many as the head says.
struct CBORWriter: ~Copyable {
  /// The head with the largest argument.
  static let longestHead = 9

  private var base: UnsafeMutableRawPointer
  private(set) var capacity: Int
  /// How many bytes have been written.
  private(set) var count = 0

  init(capacity: Int = 256) {
    self.capacity = max(capacity, 16)
    base = Self.allocated(malloc(self.capacity))
  }

  deinit { free(base) }

  /// What has been written. The bytes are valid in `body` only.
  @inline(__always)
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  /// A copy of what has been written.
  var data: Data { Data(bytes: base, count: count) }

  /// Forgets what has been written and keeps the buffer.
  mutating func removeAll() { count = 0 }

  // MARK: Space

  /// Makes room for so many bytes behind what has been written.
  @inline(__always)
  mutating func reserve(_ additional: Int) {
    if capacity &- count < additional { grow(additional) }
  }

  @inline(never)
  private mutating func grow(_ additional: Int) {
    capacity = max(capacity * 2, count + additional)
    base = Self.allocated(realloc(base, capacity))
  }

  /// As everywhere in Swift, there is no going on without memory.
  private static func allocated(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer {
    guard let pointer else { fatalError("CBORWriter is out of memory.") }
    return pointer
  }

  /// Appends bytes as they are, without a head: items that were encoded elsewhere.
  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    reserve(bytes.count)
    (base + count).copyMemory(from: source, byteCount: bytes.count)
    count &+= bytes.count
  }

  /// Changes what has been written, for those who patch it afterwards.
  @inline(__always)
  mutating func withMutableBytes<R, E: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try body(UnsafeMutableRawBufferPointer(start: base, count: count))
  }

  /// Inserts `length` bytes of no particular value at `offset`, and moves what is behind it.
  mutating func insertGap(_ length: Int, at offset: Int) {
    reserve(length)
    let start = base + offset
    (start + length).copyMemory(from: start, byteCount: count - offset)
    count += length
  }

  /// Drops everything from `offset` on.
  mutating func truncate(to offset: Int) {
    precondition(offset >= 0 && offset <= count)
    count = offset
  }

  // MARK: Heads

  /// Appends a head with the shortest argument.
  @inline(__always)
  mutating func writeHead(_ major: CBORMajorType, _ argument: UInt64) {
    reserve(Self.longestHead)
    count &+= Self.put(major, argument, at: base + count)
  }

  /// Stores a head and returns its length; `pointer` has room for ``longestHead``, or for the head if it is shorter.
  @inline(__always)
  static func put(_ major: CBORMajorType, _ argument: UInt64, at pointer: UnsafeMutableRawPointer) -> Int {
    let type = major.rawValue << 5
    if argument < 24 {
      pointer.storeBytes(of: type | UInt8(truncatingIfNeeded: argument), as: UInt8.self)
      return 1
    }
    if argument <= 0xFF {
      pointer.storeBytes(of: type | 24, as: UInt8.self)
      (pointer + 1).storeBytes(of: UInt8(truncatingIfNeeded: argument), as: UInt8.self)
      return 2
    }
    return putLong(type, argument, at: pointer)
  }

  private static func putLong(_ type: UInt8, _ argument: UInt64, at pointer: UnsafeMutableRawPointer) -> Int {
    if argument <= 0xFFFF {
      pointer.storeBytes(of: type | 25, as: UInt8.self)
      (pointer + 1).storeBytes(of: UInt16(truncatingIfNeeded: argument).bigEndian, as: UInt16.self)
      return 3
    }
    if argument <= 0xFFFF_FFFF {
      pointer.storeBytes(of: type | 26, as: UInt8.self)
      (pointer + 1).storeBytes(of: UInt32(truncatingIfNeeded: argument).bigEndian, as: UInt32.self)
      return 5
    }
    pointer.storeBytes(of: type | 27, as: UInt8.self)
    (pointer + 1).storeBytes(of: argument.bigEndian, as: UInt64.self)
    return 9
  }

  /// How many bytes the head with this argument takes.
  @inline(__always)
  static func headLength(_ argument: UInt64) -> Int {
    if argument < 24 { return 1 }
    if argument <= 0xFF { return 2 }
    if argument <= 0xFFFF { return 3 }
    return argument <= 0xFFFF_FFFF ? 5 : 9
  }

  /// Appends one byte and an argument of a fixed width: floating-point numbers.
  @inline(__always)
  mutating func writeInitialByte<Bits: FixedWidthInteger & BitwiseCopyable>(_ byte: UInt8, _ bits: Bits) {
    reserve(Self.longestHead)
    let pointer = base + count
    pointer.storeBytes(of: byte, as: UInt8.self)
    (pointer + 1).storeBytes(of: bits.bigEndian, as: Bits.self)
    count &+= 1 + MemoryLayout<Bits>.size
  }

  /// Appends an item that is one byte.
  @inline(__always)
  mutating func writeByte(_ byte: UInt8) {
    reserve(1)
    (base + count).storeBytes(of: byte, as: UInt8.self)
    count &+= 1
  }
}
