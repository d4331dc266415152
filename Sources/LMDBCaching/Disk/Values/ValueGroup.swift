import Platform

/// Values that are appended to the value log in one write: a call for each takes three times as long where they have a
/// few pages.
///
/// They lie here as they will in the segment; what depends on the place is filled in when that is known. Not thread-safe.
struct ValueGroup: ~Copyable {
  /// What is longer is appended by itself: one more copy of it would cost more than the call.
  static let longestValue = 64 << 10
  /// Bytes from which on a group is appended.
  static let fullSize = 256 << 10

  private struct Member {
    let offset: Int
    let keyLength: Int
    let length: Int
    let hash: UInt64
  }

  private var memory: UnsafeMutableRawPointer?
  private var capacity = 0
  private var members: [Member] = []
  /// Bytes that the entries take.
  private(set) var size = 0

  deinit { memory?.deallocate() }

  var isEmpty: Bool { members.isEmpty }
  var count: Int { members.count }

  /// - Parameter key: LMDB's key of the record.
  mutating func add(_ value: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) {
    let entrySize = ValueEntry.size(keyLength: key.count, length: value.count)
    let base = room(for: entrySize) + size
    (base + ValueEntry.headSize).copyMemory(from: key.baseAddress!, byteCount: key.count)
    let start = ValueEntry.headLength(key.count)
    // Before the value: the last bytes of the entry are its padding, if there is any.
    (base + entrySize - ValueEntry.alignment)
      .initializeMemory(as: UInt8.self, repeating: 0, count: ValueEntry.alignment)
    (base + start).copyMemory(from: value.baseAddress!, byteCount: value.count)
    members.append(
      Member(offset: size, keyLength: key.count, length: value.count, hash: RecordHeader.payloadHash(value)))
    size += entrySize
  }

  private mutating func room(for entrySize: Int) -> UnsafeMutableRawPointer {
    if let memory, size + entrySize <= capacity { return memory }
    capacity = max(2 * capacity, size + entrySize, 64 << 10)
    let grown = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: ValueEntry.alignment)
    if let memory {
      grown.copyMemory(from: memory, byteCount: size)
      memory.deallocate()
    }
    memory = grown
    return grown
  }

  /// The bytes of the group at a place, and where each value will be.
  mutating func seal(at offset: Int, in segment: UInt64) -> (bytes: UnsafeRawBufferPointer, [ValuePointer]) {
    guard let memory else { return (UnsafeRawBufferPointer(start: nil, count: 0), []) }
    let pointers = members.map { member in
      let entry = ValueEntry(
        offset: offset + member.offset, keyLength: member.keyLength, length: member.length, hash: member.hash)
      let base = memory + member.offset
      entry.writeHead(
        to: base, key: UnsafeRawBufferPointer(start: base + ValueEntry.headSize, count: member.keyLength),
        segment: segment)
      return entry.pointer(segment)
    }
    return (UnsafeRawBufferPointer(start: memory, count: size), pointers)
  }

  /// Forgets the values; the memory stays for the next.
  mutating func removeAll() {
    members.removeAll(keepingCapacity: true)
    size = 0
  }
}
