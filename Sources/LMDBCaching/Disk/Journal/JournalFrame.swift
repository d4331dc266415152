import CXXHash

/// One operation in a journal segment: a frame header, the key padded to eight bytes, and the record.
///
///     offset  bytes
///          0      4  length of the frame without its final padding
///          4      1  operation
///          5      1  flags
///          6      2  0
///          8      8  check of this header from the stamp on, the key and the record's header
///         16      8  stamp
///         24      4  length of the key
///         28      4  length of the record
///
/// The record's own checksum covers the value.
struct JournalFrame {
  static let headerSize = 32

  enum Operation: UInt8 {
    case put = 1
    case remove = 2
    case removeAll = 3
    case removePrefix = 4
    case removeTag = 5
  }

  struct Flags: OptionSet {
    let rawValue: UInt8
    static let batchContinues = Flags(rawValue: 1)
  }

  let base: UnsafeRawPointer

  var length: Int { Int(base.load(as: UInt32.self)) }
  var operation: Operation { Operation(rawValue: base.load(fromByteOffset: 4, as: UInt8.self)) ?? .remove }
  var flags: Flags { Flags(rawValue: base.load(fromByteOffset: 5, as: UInt8.self)) }
  var stamp: UInt64 { base.load(fromByteOffset: 16, as: UInt64.self) }
  var keyLength: Int { Int(base.load(fromByteOffset: 24, as: UInt32.self)) }
  var recordLength: Int { Int(base.load(fromByteOffset: 28, as: UInt32.self)) }

  @inline(__always)
  var key: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base + Self.headerSize, count: keyLength) }

  @inline(__always)
  var record: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + Self.headerSize + Self.padded(keyLength), count: recordLength)
  }

  /// The keys that the operation affects; refers to the frame's memory.
  var scope: HiddenKeys.Scope {
    switch operation {
    case .put, .remove: .key(key)
    case .removePrefix: .prefix(key)
    case .removeTag: .tag(tag)
    case .removeAll: .everything
    }
  }

  @inline(__always)
  static func padded(_ count: Int) -> Int { (count + 7) & ~7 }

  @inline(__always)
  static func size(keyLength: Int, recordLength: Int) -> Int { headerSize + padded(keyLength) + padded(recordLength) }

  /// Writes the key, and the header fields known before the append. Needs room for the padding, which is checked.
  @inline(__always)
  static func writeFields(
    _ base: UnsafeMutableRawPointer, _ operation: Operation, key: UnsafeRawBufferPointer, recordLength: Int
  ) {
    base.storeBytes(of: UInt32(headerSize + padded(key.count) + recordLength), as: UInt32.self)
    base.storeBytes(of: operation.rawValue, toByteOffset: 4, as: UInt8.self)
    base.storeBytes(of: 0, toByteOffset: 6, as: UInt16.self)
    base.storeBytes(of: UInt32(key.count), toByteOffset: 24, as: UInt32.self)
    base.storeBytes(of: UInt32(recordLength), toByteOffset: 28, as: UInt32.self)
    if key.isEmpty { return }
    base.storeBytes(of: 0, toByteOffset: headerSize + padded(key.count) - 8, as: UInt64.self)
    (base + headerSize).copyMemory(from: key.baseAddress!, byteCount: key.count)
  }

  /// Completes a frame whose other parts, including the record's header, are in place.
  @inline(__always)
  static func seal(
    _ base: UnsafeMutableRawPointer, flags: Flags, stamp: UInt64, keyLength: Int, recordLength: Int, seed: UInt64
  ) {
    base.storeBytes(of: flags.rawValue, toByteOffset: 5, as: UInt8.self)
    base.storeBytes(of: stamp, toByteOffset: 16, as: UInt64.self)
    base.storeBytes(
      of: check(base, keyLength: keyLength, recordLength: recordLength, seed: seed), toByteOffset: 8, as: UInt64.self)
  }

  @inline(__always)
  private static func check(_ base: UnsafeRawPointer, keyLength: Int, recordLength: Int, seed: UInt64) -> UInt64 {
    let covered = headerSize - 16 + padded(keyLength) + min(recordLength, RecordHeader.baseSize)
    return cxxhash_64(base + 16, covered, seed ^ base.load(as: UInt64.self))
  }

  /// The whole frame, sealed with `seed`, at the start of `bytes`, or `nil`. Trusts no length in them.
  init?(validating bytes: UnsafeRawBufferPointer, seed: UInt64) {
    guard bytes.count >= Self.headerSize, let base = bytes.baseAddress else { return nil }
    self.base = base
    let keyLength = keyLength
    let recordLength = recordLength
    guard keyLength <= bytes.count, recordLength <= bytes.count,
      Self.size(keyLength: keyLength, recordLength: recordLength) <= bytes.count,
      length == Self.headerSize + Self.padded(keyLength) + recordLength,
      let operation = Operation(rawValue: base.load(fromByteOffset: 4, as: UInt8.self)),
      base.load(fromByteOffset: 8, as: UInt64.self)
        == Self.check(base, keyLength: keyLength, recordLength: recordLength, seed: seed),
      stamp < StampClock.foundLimit
    else { return nil }
    // Keys with this first byte are the cache's internal records.
    guard operation == .removeTag || key.first != DatabaseKey.reservedMarker else { return nil }
    guard operation == .put else { return }
    let record = record
    // The record's checksum does not cover the key in it, but the frame's check does.
    guard let header = RecordHeader(record), header.stamp == stamp, header.belongs(to: key, in: record),
      header.isIntact(record, key: key)
    else { return nil }
  }

  init(base: UnsafeRawPointer) { self.base = base }

  var tag: UInt64 { keyLength == 8 ? UInt64(littleEndian: key.loadUnaligned(as: UInt64.self)) : 0 }

  /// The value's place, if the frame puts a value in the value log.
  var pointer: ValuePointer? { operation == .put ? ValuePointer(in: record, RecordHeader(record)) : nil }

  @inline(__always)
  var paddedLength: Int { Self.padded(length) }
}
