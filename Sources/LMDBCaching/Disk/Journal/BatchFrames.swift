import Platform

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
