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

  /// From the frame's beginning on, to its end or beyond.
  let bytes: ByteView

  var length: Int { Int(bytes.load(as: UInt32.self)) }
  var operation: Operation { Operation(rawValue: bytes[4]) ?? .remove }
  var flags: Flags { Flags(rawValue: bytes[5]) }
  var stamp: UInt64 { bytes.load(16) }
  var keyLength: Int { Int(bytes.load(24, as: UInt32.self)) }
  var recordLength: Int { Int(bytes.load(28, as: UInt32.self)) }

  @inline(__always)
  var key: ByteView { bytes[Self.headerSize..<Self.headerSize + keyLength] }

  @inline(__always)
  var record: ByteView {
    let start = Self.recordOffset(keyLength: keyLength)
    return bytes[start..<start + recordLength]
  }

  @inline(__always)
  static func recordOffset(keyLength: Int) -> Int { headerSize + padded(keyLength) }

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
  static func writeFields(_ frame: MutableByteView, _ operation: Operation, key: ByteView, recordLength: Int) {
    // Once, for the fields.
    precondition(frame.count >= headerSize)
    frame.store(UInt32(headerSize + padded(key.count) + recordLength))
    frame.store(operation.rawValue, at: 4)
    frame.store(0 as UInt16, at: 6)
    frame.store(UInt32(key.count), at: 24)
    frame.store(UInt32(recordLength), at: 28)
    if key.isEmpty { return }
    frame.store(0 as UInt64, at: headerSize + padded(key.count) - 8)
    frame.copy(key, at: headerSize)
  }

  /// Completes a frame whose other parts, including the record's header, are in place.
  @inline(__always)
  static func seal(
    _ frame: MutableByteView, flags: Flags, stamp: UInt64, keyLength: Int, recordLength: Int, seed: UInt64
  ) {
    frame.store(flags.rawValue, at: 5)
    frame.store(stamp, at: 16)
    frame.store(check(ByteView(frame), keyLength: keyLength, recordLength: recordLength, seed: seed), at: 8)
  }

  @inline(__always)
  private static func check(_ frame: ByteView, keyLength: Int, recordLength: Int, seed: UInt64) -> UInt64 {
    let end = recordOffset(keyLength: keyLength) + min(recordLength, RecordHeader.baseSize)
    return frame[16..<end].hash(seed: seed ^ frame.load())
  }

  /// The whole frame, sealed with `seed`, at the start of `bytes`, or `nil`. Trusts no length in them.
  init?(validating bytes: ByteView, seed: UInt64) {
    guard bytes.count >= Self.headerSize else { return nil }
    self.bytes = bytes
    let keyLength = keyLength
    let recordLength = recordLength
    guard keyLength <= bytes.count, recordLength <= bytes.count,
      Self.size(keyLength: keyLength, recordLength: recordLength) <= bytes.count,
      length == Self.headerSize + Self.padded(keyLength) + recordLength,
      let operation = Operation(rawValue: bytes[4]),
      bytes.load(8, as: UInt64.self) == Self.check(bytes, keyLength: keyLength, recordLength: recordLength, seed: seed),
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

  init(at bytes: ByteView) { self.bytes = bytes }

  var tag: UInt64 { keyLength == 8 ? key.load() : 0 }

  /// The value's place, if the frame puts a value in the value log.
  var pointer: ValuePointer? { operation == .put ? ValuePointer(in: record, RecordHeader(record)) : nil }

  @inline(__always)
  var paddedLength: Int { Self.padded(length) }
}

/// The keys that a write affects.
enum KeyScope {
  case key(ByteView)
  case prefix(ByteView)
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
/// All slow work (copying, hashing) happens on the caller's thread, without a lock. Not thread-safe.
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

  private struct Contents: ~Copyable {
    var owned = OwnedBytes(capacity: 4096)
    var used = JournalSegment.headerSize
    var entries: [Entry] = []
    var group = ValueGroup()
  }

  /// Behind a reference: a class property's run-time exclusivity checks showed in profiles.
  private let contents = MemoryReference.allocated(Contents())
  let isAwaited: Bool
  private var waiting: [Int] = []
  /// Values in the value log, whose segments this object retains.
  private var values: [AppendedValue] = []

  init(isAwaited: Bool) { self.isAwaited = isAwaited }

  deinit {
    unsafe contents.free()
    for value in values { value.end() }
  }

  var isEmpty: Bool { entries.isEmpty }
  var size: Int { contents.pointee.used - JournalSegment.headerSize }
  var frames: ByteView { ByteView(memory[JournalSegment.headerSize..<contents.pointee.used]) }
  /// The frames, after room for a segment's header.
  var memory: MutableByteView { contents.pointee.owned.memory }
  var entries: [Entry] { contents.pointee.entries }
  /// Values not yet in the value log; `waiting` lists their entries.
  var group: ValueGroup {
    _read { yield contents.pointee.group }
    _modify { yield &contents.pointee.group }
  }

  // MARK: Collecting

  @inline(__always)
  func put(_ key: CacheKey, _ header: RecordHeader, _ payload: ByteView) {
    var header = header
    if !DatabaseKey.isPlain(key.utf8) { header.keyLength = UInt32(key.utf8.count) }
    let offset = contents.pointee.used
    let record = append(.put, key.utf8, recordLength: header.payloadOffset + payload.count)
    header.writeFields(to: record)
    if header.keyLength != 0 { record.copy(key.utf8, at: header.keyOffset) }
    record.copy(payload, at: header.payloadOffset)
    contents.pointee.entries.append(
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
      // The pointer ends the record, and so the frame without its padding.
      let end = entries[index].offset + frame(of: entries[index]).length
      let payload = memory[end - ValuePointer.size..<end]
      value.pointer.write(to: payload)
      contents.pointee.entries[index].payloadHash = RecordHeader.payloadHash(ByteView(payload))
    }
    waiting.removeAll(keepingCapacity: true)
  }

  func remove(_ key: CacheKey) {
    let offset = contents.pointee.used
    _ = append(.remove, key.utf8, recordLength: 0)
    contents.pointee.entries.append(
      Entry(offset: offset, keyIdentity: key.hash, headerLength: 0, keyHash: 0, payloadHash: 0))
  }

  func removeAll(withPrefix prefix: ByteView?) {
    let offset = contents.pointee.used
    if let prefix {
      _ = append(.removePrefix, prefix, recordLength: 0)
    } else {
      _ = append(.removeAll, .empty, recordLength: 0)
    }
    contents.pointee.entries.append(
      Entry(offset: offset, keyIdentity: nil, headerLength: 0, keyHash: 0, payloadHash: 0))
  }

  func removeAll(tag hash: UInt64) {
    let offset = contents.pointee.used
    withStackBytes(8) { bytes in
      bytes.store(hash)
      _ = append(.removeTag, ByteView(bytes), recordLength: 0)
    }
    contents.pointee.entries.append(
      Entry(offset: offset, keyIdentity: nil, headerLength: 0, keyHash: 0, payloadHash: 0))
  }

  /// Writes the known part of a new frame; returns its record's place.
  @inline(__always)
  private func append(_ operation: JournalFrame.Operation, _ key: ByteView, recordLength: Int) -> MutableByteView {
    let size = JournalFrame.size(keyLength: key.count, recordLength: recordLength)
    let start = contents.pointee.used
    if size > memory.count - start { contents.pointee.owned.grow(to: start + size) }
    let frame = memory[start..<start + size]
    JournalFrame.writeFields(frame, operation, key: key, recordLength: recordLength)
    contents.pointee.used += size
    // The padding goes to disk, so it must not leak earlier memory contents.
    if recordLength > 0 { frame.store(0 as UInt64, at: size - 8) }
    return frame[JournalFrame.recordOffset(keyLength: key.count)...]
  }

  // MARK: Reading

  func frame(of entry: Entry) -> JournalFrame { JournalFrame(at: ByteView(memory[entry.offset...])) }
}

/// A put whose hashes are already computed, so that only copying remains under the lock.
struct PreparedPut {
  private let key: CacheKey
  private var header: RecordHeader
  private let payload: ByteView
  let hash: UInt64
  private let keyHash: UInt64
  private let payloadHash: UInt64

  @inline(__always)
  init(_ key: CacheKey, _ header: RecordHeader, _ payload: ByteView) {
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
    unsafe [UInt8](unsafeUninitializedCapacity: recordLength) { record, count in
      unsafe write(to: MutableByteView(UnsafeMutableRawBufferPointer(record)), stamp: stamp)
      count = recordLength
    }
  }

  @inline(__always)
  private func write(to record: MutableByteView, stamp: UInt64) {
    var header = header
    header.stamp = stamp
    header.write(to: record, keyHash: keyHash, payloadHash: payloadHash)
    if header.keyLength != 0 { record.copy(key.utf8, at: header.keyOffset) }
    record.copy(payload, at: header.payloadOffset)
  }
}
