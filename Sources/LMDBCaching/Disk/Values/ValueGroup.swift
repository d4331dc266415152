import Platform

/// Values appended to the value log in one write: separate calls take three times as long for values of a few pages.
/// They are laid out as in the segment; fields that depend on the offset are filled in later. Not thread-safe.
struct ValueGroup: ~Copyable {
  /// Longer values are appended separately, because another copy would cost more than the call.
  static let longestValue = 64 << 10
  /// The size at which a group is appended.
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
  private(set) var size = 0

  deinit { memory?.deallocate() }

  var isEmpty: Bool { members.isEmpty }
  var count: Int { members.count }

  /// - Parameter key: The record's LMDB key.
  mutating func add(_ value: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) {
    let entrySize = ValueEntry.size(keyLength: key.count, length: value.count)
    let base = room(for: entrySize) + size
    (base + ValueEntry.headSize).copyMemory(from: key.baseAddress!, byteCount: key.count)
    let start = ValueEntry.headLength(key.count)
    // Before the value, which may overwrite part of it; the rest is the entry's padding.
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

  /// Completes the entries at an offset; returns their bytes and pointers.
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

  /// Removes the values, but keeps the memory.
  mutating func removeAll() {
    members.removeAll(keepingCapacity: true)
    size = 0
  }
}
