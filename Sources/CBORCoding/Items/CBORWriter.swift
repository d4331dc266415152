import Foundation

/// Appends data items to its buffer in deterministic encoding (RFC 8949 §4.2.1): shortest heads, definite lengths, and
/// the shortest floating-point number that keeps the value.
///
/// The caller must sort map entries by encoded key and write exactly as many as the head says.
struct CBORWriter: ~Copyable {
  /// The length of the longest head.
  static let longestHead = 9

  private var base: UnsafeMutableRawPointer
  private(set) var capacity: Int
  private(set) var count = 0

  init(capacity: Int = 256) {
    self.capacity = max(capacity, 16)
    base = Self.allocated(malloc(self.capacity))
  }

  deinit { free(base) }

  /// Lends the written bytes to `body`.
  @inline(__always)
  func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try body(UnsafeRawBufferPointer(start: base, count: count))
  }

  var data: Data { Data(bytes: base, count: count) }

  mutating func removeAll() { count = 0 }

  // MARK: Space

  /// Reserves space for `additional` bytes after the written ones.
  @inline(__always)
  mutating func reserve(_ additional: Int) {
    if capacity &- count < additional { grow(additional) }
  }

  @inline(never)
  private mutating func grow(_ additional: Int) {
    capacity = max(capacity * 2, count + additional)
    base = Self.allocated(realloc(base, capacity))
  }

  /// As everywhere in Swift, running out of memory is fatal.
  private static func allocated(_ pointer: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer {
    guard let pointer else { fatalError("CBORWriter is out of memory.") }
    return pointer
  }

  /// Appends items encoded elsewhere.
  @inline(__always)
  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let source = bytes.baseAddress, bytes.count > 0 else { return }
    reserve(bytes.count)
    (base + count).copyMemory(from: source, byteCount: bytes.count)
    count &+= bytes.count
  }

  /// Lends the written bytes for patching.
  @inline(__always)
  mutating func withMutableBytes<R, E: Error>(
    _ body: (UnsafeMutableRawBufferPointer) throws(E) -> R
  ) throws(E) -> R {
    try body(UnsafeMutableRawBufferPointer(start: base, count: count))
  }

  /// Inserts `length` undefined bytes at `offset`, moving the rest.
  mutating func insertGap(_ length: Int, at offset: Int) {
    reserve(length)
    let start = base + offset
    (start + length).copyMemory(from: start, byteCount: count - offset)
    count += length
  }

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

  /// Stores a head and returns its length. `pointer` must have room for the head, at most ``longestHead``.
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

  /// The length of the head with this argument.
  @inline(__always)
  static func headLength(_ argument: UInt64) -> Int {
    if argument < 24 { return 1 }
    if argument <= 0xFF { return 2 }
    if argument <= 0xFFFF { return 3 }
    return argument <= 0xFFFF_FFFF ? 5 : 9
  }

  /// Appends a byte and a fixed-width argument, for floating-point numbers.
  @inline(__always)
  mutating func writeInitialByte<Bits: FixedWidthInteger & BitwiseCopyable>(_ byte: UInt8, _ bits: Bits) {
    reserve(Self.longestHead)
    let pointer = base + count
    pointer.storeBytes(of: byte, as: UInt8.self)
    (pointer + 1).storeBytes(of: bits.bigEndian, as: Bits.self)
    count &+= 1 + MemoryLayout<Bits>.size
  }

  @inline(__always)
  mutating func writeByte(_ byte: UInt8) {
    reserve(1)
    (base + count).storeBytes(of: byte, as: UInt8.self)
    count &+= 1
  }
}
