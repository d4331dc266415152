import CXXHash

/// One operation in a journal segment: a frame header, the key padded to eight bytes, and the record.
///
///     offset  bytes
///          0      4  length of the frame, its padding left out
///          4      1  operation
///          5      1  flags
///          6      2  0
///          8      8  check over this header, the key and the record's header
///         16      8  stamp
///         24      4  length of the key
///         28      4  length of the record
///
/// The value is covered by the record's own checksum.
struct JournalFrame {
  static let headerSize = 32

  enum Operation: UInt8 {
    case put = 1
    case remove = 2
    case removeAll = 3
    case removePrefix = 4
    /// Every entry that has a tag. The key is the tag's hash.
    case removeTag = 5
  }

  struct Flags: OptionSet {
    let rawValue: UInt8
    /// The next frame belongs to the same atomic batch.
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

  /// What the operation is about. It refers to the frame.
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

  /// Writes a frame's key, and of its header what is known before its place among the others is. There has to be room
  /// for the padding, which the frame's check covers.
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

  /// Completes a frame of which everything else is in place, the record's header included.
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

  /// The frame at the start of `bytes`, or `nil` if these are no whole frame sealed with `seed`.
  ///
  /// Believes nothing: every length is held against the bytes that are there.
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
    // No key begins so: these are the cache's own records.
    guard operation == .removeTag || key.first != DatabaseKey.reservedMarker else { return nil }
    guard operation == .put else { return }
    let record = record
    // The key that a record holds is not in its checksum: the frame's is.
    guard let header = RecordHeader(record), header.stamp == stamp, header.belongs(to: key, in: record),
      header.isIntact(record, key: key)
    else { return nil }
  }

  init(base: UnsafeRawPointer) { self.base = base }

  /// The hash of the tag that it is about, as it is in the key.
  var tag: UInt64 { keyLength == 8 ? UInt64(littleEndian: key.loadUnaligned(as: UInt64.self)) : 0 }

  /// Where the value is that it puts, if that is in the value log.
  var pointer: ValuePointer? { operation == .put ? ValuePointer(in: record, RecordHeader(record)) : nil }

  /// Where the next frame starts.
  @inline(__always)
  var paddedLength: Int { Self.padded(length) }
}
