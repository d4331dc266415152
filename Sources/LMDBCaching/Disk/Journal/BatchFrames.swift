import Platform

/// The operations of an atomic batch as journal frames, complete but for what is known only when the batch takes its
/// place among the other writes: the stamps, and the checks over them.
///
/// So everything that takes long is done on the caller's thread and without a lock: a value is copied here from its
/// archive, and every hash over a key or a value is computed once. Not thread-safe. (Without run-time exclusivity checks
/// of its properties, which showed in the profile of a batch.)
final class BatchFrames {
  struct Entry {
    /// Where the frame begins, in the batch's memory.
    let offset: Int
    /// Of one key, as the memory tier and the journal's index use it; `nil` if the operation concerns any number of keys.
    let keyIdentity: UInt64?
    /// The length of the record's header, the key not included, or 0 if there is no record.
    let headerLength: Int
    let keyHash: UInt64
    fileprivate(set) var payloadHash: UInt64
  }

  /// The frames, after as much room as a segment has in front of its own.
  @exclusivity(unchecked) private(set) var memory: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var capacity: Int
  @exclusivity(unchecked) private var used = JournalSegment.headerSize
  @exclusivity(unchecked) private(set) var entries: [Entry] = []
  /// Whether the caller waits until the batch is committed.
  let isAwaited: Bool
  /// Values that are not in the value log yet, and the entries that refer to them.
  @exclusivity(unchecked) var group = ValueGroup()
  private var waiting: [Int] = []
  /// Values in the value log, whose segments stay as long as this object.
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
  /// Bytes of all frames.
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

  /// Puts a value that is in the value log.
  func put(_ key: CacheKey, _ header: RecordHeader, _ value: AppendedValue) {
    values.append(value)
    value.pointer.withBytes { put(key, header.referring, $0) }
  }

  /// Puts a value that is in the group, whose pointer is not known yet.
  func putWaiting(_ key: CacheKey, _ header: RecordHeader) {
    waiting.append(entries.count)
    ValuePointer(segment: 0, offset: 0, length: 0, hash: 0).withBytes { put(key, header.referring, $0) }
  }

  /// Has the entries refer to the values of the group, which are in the value log now.
  func resolve(_ appended: [AppendedValue]) {
    values.append(contentsOf: appended)
    for (index, value) in zip(waiting, appended) {
      let frame = frame(of: entries[index])
      // The pointer is the end of the record.
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

  /// - Parameter prefix: of the keys to remove; `nil` for every key.
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

  /// Makes room for a frame and writes what is known of it; returns the place of its record.
  @inline(__always)
  private func append(
    _ operation: JournalFrame.Operation, _ key: UnsafeRawBufferPointer, recordLength: Int
  ) -> UnsafeMutableRawPointer {
    let size = JournalFrame.size(keyLength: key.count, recordLength: recordLength)
    if size > capacity - used { grow(by: size) }
    let frame = memory + used
    JournalFrame.writeFields(frame, operation, key: key, recordLength: recordLength)
    used += size
    // The padding goes to the disk with the rest: nothing of what this memory was before may.
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
