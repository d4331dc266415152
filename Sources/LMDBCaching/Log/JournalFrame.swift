import CXXHash
import Platform

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
  var scope: KeyScope {
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

/// The keys that a write affects.
enum KeyScope {
  case key(UnsafeRawBufferPointer)
  case prefix(UnsafeRawBufferPointer)
  case tag(UInt64)
  case everything

  /// Whether the scope certainly includes the key; never known for a tag.
  func includes(_ key: String) -> Bool {
    switch self {
    case .key(let other): key.utf8.elementsEqual(other)
    case .prefix(let prefix): key.utf8.starts(with: prefix)
    case .tag: false
    case .everything: true
    }
  }
}

/// The operations of an atomic batch as journal frames, complete except for stamps and checks, which depend on the
/// batch's place among other writes.
///
/// All slow work (copying, hashing) happens on the caller's thread, without a lock. Not thread-safe. Run-time
/// exclusivity checks are off because they showed in profiles.
final class BatchFrames {
  struct Entry {
    /// The frame's offset in `memory`.
    let offset: Int
    /// The key's hash for the memory tier and the journal's index; `nil` for an operation on many keys.
    let keyIdentity: UInt64?
    /// The length of the record's header without the key, or 0 without a record.
    let headerLength: Int
    let keyHash: UInt64
    fileprivate(set) var payloadHash: UInt64
  }

  /// The frames, after room for a segment's header.
  @exclusivity(unchecked) private(set) var memory: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var capacity: Int
  @exclusivity(unchecked) private var used = JournalSegment.headerSize
  @exclusivity(unchecked) private(set) var entries: [Entry] = []
  let isAwaited: Bool
  /// Values not yet in the value log; `waiting` lists their entries.
  @exclusivity(unchecked) var group = ValueGroup()
  private var waiting: [Int] = []
  /// Values in the value log, whose segments this object retains.
  private var values: [AppendedValue] = []

  init(isAwaited: Bool) {
    self.isAwaited = isAwaited
    capacity = 4096
    memory = malloc(capacity)
  }

  deinit {
    free(memory)
    for value in values { value.end() }
  }

  var isEmpty: Bool { entries.isEmpty }
  var size: Int { used - JournalSegment.headerSize }

  // MARK: Collecting

  @inline(__always)
  func put(_ key: CacheKey, _ header: RecordHeader, _ payload: UnsafeRawBufferPointer) {
    var header = header
    if !DatabaseKey.isPlain(key.utf8) { header.keyLength = UInt32(key.utf8.count) }
    let offset = used
    let record = append(.put, key.utf8, recordLength: header.payloadOffset + payload.count)
    header.writeFields(to: record)
    if header.keyLength != 0 {
      (record + header.keyOffset).copyMemory(from: key.utf8.baseAddress!, byteCount: key.utf8.count)
    }
    if !payload.isEmpty {
      (record + header.payloadOffset).copyMemory(from: payload.baseAddress!, byteCount: payload.count)
    }
    entries.append(
      Entry(
        offset: offset, keyIdentity: key.hash, headerLength: header.fixedLength,
        keyHash: RecordHeader.keyHash(key.utf8), payloadHash: RecordHeader.payloadHash(payload)))
  }

  func put(_ key: CacheKey, _ header: RecordHeader, _ value: AppendedValue) {
    values.append(value)
    value.pointer.withBytes { put(key, header.referring, $0) }
  }

  /// Puts a value of the group, whose pointer is not known yet.
  func putWaiting(_ key: CacheKey, _ header: RecordHeader) {
    waiting.append(entries.count)
    ValuePointer(segment: 0, offset: 0, length: 0, hash: 0).withBytes { put(key, header.referring, $0) }
  }

  /// Fills in the pointers of the group's values, now in the value log.
  func resolve(_ appended: [AppendedValue]) {
    values.append(contentsOf: appended)
    for (index, value) in zip(waiting, appended) {
      let frame = frame(of: entries[index])
      // The pointer ends the record.
      let record = memory + entries[index].offset + JournalFrame.headerSize + JournalFrame.padded(frame.keyLength)
      let payload = record + frame.recordLength - ValuePointer.size
      value.pointer.write(to: payload)
      entries[index].payloadHash = RecordHeader.payloadHash(
        UnsafeRawBufferPointer(start: payload, count: ValuePointer.size))
    }
    waiting.removeAll(keepingCapacity: true)
  }

  func remove(_ key: CacheKey) {
    let offset = used
    _ = append(.remove, key.utf8, recordLength: 0)
    entries.append(Entry(offset: offset, keyIdentity: key.hash, headerLength: 0, keyHash: 0, payloadHash: 0))
  }

  func removeAll(withPrefix prefix: UnsafeRawBufferPointer?) {
    let offset = used
    if let prefix {
      _ = append(.removePrefix, prefix, recordLength: 0)
    } else {
      _ = append(.removeAll, UnsafeRawBufferPointer(start: nil, count: 0), recordLength: 0)
    }
    entries.append(Entry(offset: offset, keyIdentity: nil, headerLength: 0, keyHash: 0, payloadHash: 0))
  }

  func removeAll(tag hash: UInt64) {
    let offset = used
    withUnsafeBytes(of: hash.littleEndian) { _ = append(.removeTag, $0, recordLength: 0) }
    entries.append(Entry(offset: offset, keyIdentity: nil, headerLength: 0, keyHash: 0, payloadHash: 0))
  }

  /// Writes the known part of a new frame; returns the address of its record.
  @inline(__always)
  private func append(
    _ operation: JournalFrame.Operation, _ key: UnsafeRawBufferPointer, recordLength: Int
  ) -> UnsafeMutableRawPointer {
    let size = JournalFrame.size(keyLength: key.count, recordLength: recordLength)
    if size > capacity - used { grow(by: size) }
    let frame = memory + used
    JournalFrame.writeFields(frame, operation, key: key, recordLength: recordLength)
    used += size
    // The padding goes to disk, so it must not leak earlier memory contents.
    if recordLength > 0 { frame.storeBytes(of: 0, toByteOffset: size - 8, as: UInt64.self) }
    return frame + JournalFrame.headerSize + JournalFrame.padded(key.count)
  }

  private func grow(by size: Int) {
    capacity = max(capacity * 2, used + size)
    guard let moved = realloc(memory, capacity) else { fatalError("no memory for a batch of \(capacity) bytes") }
    memory = moved
  }

  // MARK: Reading

  func frame(of entry: Entry) -> JournalFrame { JournalFrame(base: memory + entry.offset) }
}

/// A put whose hashes are already computed, so that only copying remains under the lock.
struct PreparedPut {
  private let key: CacheKey
  private var header: RecordHeader
  private let payload: UnsafeRawBufferPointer
  let hash: UInt64
  private let keyHash: UInt64
  private let payloadHash: UInt64

  @inline(__always)
  init(_ key: CacheKey, _ header: RecordHeader, _ payload: UnsafeRawBufferPointer) {
    self.key = key
    self.header = header
    self.payload = payload
    if !DatabaseKey.isPlain(key.utf8) { self.header.keyLength = UInt32(key.utf8.count) }
    hash = key.hash
    keyHash = RecordHeader.keyHash(key.utf8)
    payloadHash = RecordHeader.payloadHash(payload)
  }

  private var recordLength: Int { header.payloadOffset + payload.count }

  @inline(__always)
  var frameSize: Int { JournalFrame.size(keyLength: key.utf8.count, recordLength: recordLength) }

  @inline(__always)
  func append(to segment: JournalSegment, stamp: UInt64, flags: JournalFrame.Flags) {
    segment.put(key: key.utf8, hash: hash, stamp: stamp, flags: flags, recordLength: recordLength) {
      write(to: $0, stamp: stamp)
    }
  }

  func record(stamp: UInt64) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: recordLength) { record, count in
      if let base = record.baseAddress { write(to: UnsafeMutableRawPointer(base), stamp: stamp) }
      count = recordLength
    }
  }

  @inline(__always)
  private func write(to record: UnsafeMutableRawPointer, stamp: UInt64) {
    var header = header
    header.stamp = stamp
    header.write(to: record, keyHash: keyHash, payloadHash: payloadHash)
    if header.keyLength != 0 {
      (record + header.keyOffset).copyMemory(from: key.utf8.baseAddress!, byteCount: key.utf8.count)
    }
    if !payload.isEmpty {
      (record + header.payloadOffset).copyMemory(from: payload.baseAddress!, byteCount: payload.count)
    }
  }
}
