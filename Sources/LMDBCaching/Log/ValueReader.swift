import Foundation
import Platform
import Synchronization

/// Reads values of the log, whichever process wrote them, and keeps some segments open. Threads: any.
final class ValueReader: Sendable {
  /// The maximum number of open segments: each takes a descriptor and address space.
  private static let maximumSegments = 64

  enum Reading<Value> {
    case value(Value)
    /// The segment is missing: the entry was replaced or moved, or the file was deleted.
    case missing
    /// The bytes do not match their checksum.
    case damaged

    func map<Other>(_ transform: (Value) -> Other) -> Reading<Other> {
      switch self {
      case .value(let value): .value(transform(value))
      case .missing: .missing
      case .damaged: .damaged
      }
    }
  }

  private let current: CurrentDirectory
  private let segmentSize: Int
  private let maps: Bool
  private let segments = Mutex<[UInt64: ReadableSegment]>([:])
  private let uses = Atomic<UInt64>(0)

  /// - Parameter maps: Whether to read long values in place if they are in memory.
  init(_ current: CurrentDirectory, segmentSize: Int, maps: Bool = true) {
    self.current = current
    self.segmentSize = segmentSize
    self.maps = maps
  }

  // MARK: Reading

  func read(_ pointer: ValuePointer) throws(SystemError) -> Reading<Data> {
    guard pointer.end != nil else { return .damaged }
    guard let segment = try segment(pointer.segment) else { return .missing }
    return try read(pointer, of: segment)
  }

  private func read(_ pointer: ValuePointer, of segment: ReadableSegment) throws(SystemError) -> Reading<Data> {
    // Before memory is allocated.
    guard let end = pointer.end, try segment.mayReach(end) else { return .damaged }
    var value = try OwnedBytes(count: pointer.length, for: current.value.path)
    guard try segment.read(value.memory, at: pointer.offset),
      RecordHeader.payloadHash(value.bytes) == pointer.hash
    else { return .damaged }
    // Only once it is filled: `Data` copies a few bytes, and frees the memory at once.
    return .value(value.takeData())
  }

  /// Calls `body` with a value, in place if it is long and in memory, or copied.
  func withValue<R>(_ pointer: ValuePointer, _ body: (ByteView) -> R) throws(SystemError) -> Reading<R> {
    guard pointer.end != nil else { return .damaged }
    guard let segment = try segment(pointer.segment) else { return .missing }
    if let bytes = segment.mappedBytes(at: pointer.offset, count: pointer.length) {
      return withExtendedLifetime(segment) {
        RecordHeader.payloadHash(bytes) == pointer.hash ? .value(body(bytes)) : .damaged
      }
    }
    return try read(pointer, of: segment).map { $0.withBytes(body) }
  }

  /// Whether the file includes a value's place.
  func isPresent(_ pointer: ValuePointer) throws(SystemError) -> Bool {
    guard let end = pointer.end, let size = try ValueFolder(cache: current.value).size(pointer.segment) else {
      return false
    }
    return end <= size
  }

  func isIntact(_ pointer: ValuePointer) throws(SystemError) -> Bool {
    // Rejects a forged length, beyond the segment's end.
    guard try isPresent(pointer) else { return false }
    if case .value = try read(pointer) { return true } else { return false }
  }

  /// Makes segments of other processes, and their names, durable.
  func synchronize(_ identifiers: Set<UInt64>) throws(SystemError) {
    if identifiers.isEmpty { return }
    for identifier in identifiers { try segment(identifier)?.synchronize() }
    try ValueFolder(cache: current.value).synchronize()
  }

  // MARK: Segments. They are closed without the lock, which readers wait for

  private func segment(_ identifier: UInt64) throws(SystemError) -> ReadableSegment? {
    let use = uses.add(1, ordering: .relaxed).newValue
    if let known = segments.withLock({ $0[identifier] }) {
      known.lastUse.store(use, ordering: .relaxed)
      return known
    }
    guard let file = try open(identifier) else { return nil }
    let opened = try ReadableSegment(file, segmentSize: segmentSize, maps: maps)
    opened.lastUse.store(use, ordering: .relaxed)
    let (kept, forgotten) = segments.withLock { segments -> (ReadableSegment, ReadableSegment?) in
      if let known = segments[identifier] { return (known, nil) }
      let forgotten = segments.count >= Self.maximumSegments ? Self.takeOldest(&segments) : nil
      segments[identifier] = opened
      return (opened, forgotten)
    }
    withExtendedLifetime(forgotten) {}
    return kept
  }

  private func open(_ identifier: UInt64) throws(SystemError) -> File? {
    let folder = ValueFolder(cache: current.value)
    do throws(SystemError) {
      return try folder.open(identifier)
    } catch {
      // Free descriptors, because none are left.
      guard error.errno == EMFILE || error.errno == ENFILE else { throw error }
      forgetAll()
      return try folder.open(identifier)
    }
  }

  private static func takeOldest(_ segments: inout [UInt64: ReadableSegment]) -> ReadableSegment? {
    let oldest = segments.min {
      $0.value.lastUse.load(ordering: .relaxed) < $1.value.lastUse.load(ordering: .relaxed)
    }
    return oldest.flatMap { segments.removeValue(forKey: $0.key) }
  }

  /// Closes removed segments, whose space the disk gets back only then.
  func forgetRemoved() {
    let removed = segments.withLock { $0 }.filter { $0.value.isRemoved }
    if removed.isEmpty { return }
    segments.withLock { segments in
      for (identifier, segment) in removed where segments[identifier] === segment { segments[identifier] = nil }
    }
  }

  /// Closes all segments, for another directory.
  func forgetAll() {
    let all = segments.withLock { segments in
      defer { segments = [:] }
      return segments
    }
    withExtendedLifetime(all) {}
  }
}

/// A value in a segment of the value log, with its key:
///
///     offset  bytes
///          0      4  "LVE1"
///          4      4  length of the key
///          8      8  length of the value
///         16      8  XXH3 of the value
///         24      8  check of the bytes before it and the key, bound to segment and offset
///         32      …  LMDB's key of the record, padded to 16 bytes; then the value
///
/// Entries begin at multiples of 16 bytes.
struct ValueEntry {
  static let alignment = 16
  static let headSize = 32
  /// The size of a head with the longest key.
  static let greatestHead = headSize + DatabaseKey.maximumLength + 1
  private static let magic: UInt32 = 0x3145_564C
  static let magicBytes = magic.littleEndian.bytes

  let offset: Int
  let keyLength: Int
  let length: Int
  let hash: UInt64

  var valueOffset: Int { offset + Self.headLength(keyLength) }
  var end: Int { offset + Self.size(keyLength: keyLength, length: length) }

  func pointer(_ segment: UInt64) -> ValuePointer {
    ValuePointer(segment: segment, offset: valueOffset, length: length, hash: hash)
  }

  @inline(__always)
  static func padded(_ count: Int) -> Int { (count &+ (alignment - 1)) & ~(alignment - 1) }

  /// The length of the head with its key.
  @inline(__always)
  static func headLength(_ keyLength: Int) -> Int { headSize + padded(keyLength) }

  @inline(__always)
  static func size(keyLength: Int, length: Int) -> Int { headLength(keyLength) &+ padded(length) }

  /// Writes the head, and zeros its padding.
  func writeHead(to head: MutableByteView, key: ByteView, segment: UInt64) {
    head.store(Self.magic)
    head.store(UInt32(keyLength), at: 4)
    head.store(length, at: 8)
    head.store(hash, at: 16)
    head[(Self.headSize + keyLength)..<Self.headLength(keyLength)].clear()
    head.copy(key, at: Self.headSize)
    head.store(Self.check(ByteView(head), keyLength: keyLength, segment, offset), at: 24)
  }

  private static func check(_ head: ByteView, keyLength: Int, _ segment: UInt64, _ offset: Int) -> UInt64 {
    let seed = segment ^ UInt64(truncatingIfNeeded: offset) &* 0x9E37_79B9_7F4A_7C15
    return head[headSize..<headSize + keyLength].hash(seed: head[..<24].hash(seed: seed))
  }

  /// Parses the entry that begins with `bytes`; returns `nil` for other bytes.
  ///
  /// - Parameter limit: The file's size.
  init?(_ bytes: ByteView, at offset: Int, in segment: UInt64, limit: Int) {
    guard bytes.count >= Self.headSize, bytes.load(as: UInt32.self) == Self.magic else { return nil }
    self.offset = offset
    keyLength = Int(bytes.load(4, as: UInt32.self))
    length = bytes.load(8)
    hash = bytes.load(16)
    guard 1...DatabaseKey.maximumLength ~= keyLength, Self.headSize + keyLength <= bytes.count,
      0...ValuePointer.greatestLength ~= length,
      length <= limit - offset - Self.headLength(keyLength),
      bytes.load(24, as: UInt64.self) == Self.check(bytes, keyLength: keyLength, segment, offset)
    else { return nil }
  }

  init(offset: Int, keyLength: Int, length: Int, hash: UInt64) {
    self.offset = offset
    self.keyLength = keyLength
    self.length = length
    self.hash = hash
  }
}

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

  private var owned = OwnedBytes()
  private var members: [Member] = []
  private(set) var size = 0

  var isEmpty: Bool { members.isEmpty }
  var count: Int { members.count }

  /// - Parameter key: The record's LMDB key.
  mutating func add(_ value: ByteView, key: ByteView) {
    let entrySize = ValueEntry.size(keyLength: key.count, length: value.count)
    if size + entrySize > owned.memory.count { owned.grow(to: max(size + entrySize, 64 << 10)) }
    let entry = owned.memory[size..<size + entrySize]
    entry.copy(key, at: ValueEntry.headSize)
    // Before the value, which may overwrite part of it; the rest is the entry's padding.
    entry[(entrySize - ValueEntry.alignment)...].clear()
    entry.copy(value, at: ValueEntry.headLength(key.count))
    members.append(
      Member(offset: size, keyLength: key.count, length: value.count, hash: RecordHeader.payloadHash(value)))
    size += entrySize
  }

  /// Completes the entries at an offset; returns their bytes and pointers.
  mutating func seal(at offset: Int, in segment: UInt64) -> (bytes: ByteView, [ValuePointer]) {
    let memory = owned.memory
    let pointers = members.map { member in
      let entry = ValueEntry(
        offset: offset + member.offset, keyLength: member.keyLength, length: member.length, hash: member.hash)
      let head = memory[member.offset...]
      let key = ByteView(head[ValueEntry.headSize..<ValueEntry.headSize + member.keyLength])
      entry.writeHead(to: head, key: key, segment: segment)
      return entry.pointer(segment)
    }
    return (ByteView(memory[..<size]), pointers)
  }

  /// Removes the values, but keeps the memory.
  mutating func removeAll() {
    members.removeAll(keepingCapacity: true)
    size = 0
  }
}

/// The place, length and checksum of a value in the value log, stored in its record.
struct ValuePointer: Equatable, Sendable {
  static let size = 32
  /// The first possible offset in a segment, after its header.
  static let leastOffset = 64

  let segment: UInt64
  let offset: Int
  let length: Int
  let hash: UInt64

  init(segment: UInt64, offset: Int, length: Int, hash: UInt64) {
    self.segment = segment
    self.offset = offset
    self.length = length
    self.hash = hash
  }

  init(_ bytes: ByteView) {
    segment = bytes.load()
    offset = bytes.load(8)
    length = bytes.load(16)
    hash = bytes.load(24)
  }

  @inline(__always)
  init?(in record: ByteView, _ header: RecordHeader?) {
    guard let header, header.flags.contains(.pointer) else { return nil }
    self.init(header.payload(of: record))
  }

  func write(to bytes: MutableByteView) {
    bytes.store(segment)
    bytes.store(offset, at: 8)
    bytes.store(length, at: 16)
    bytes.store(hash, at: 24)
  }

  func withBytes<R, E: Error>(_ body: (ByteView) throws(E) -> R) throws(E) -> R {
    try withStackBytes(Self.size) { (bytes) throws(E) in
      write(to: bytes)
      return try body(ByteView(bytes))
    }
  }

  /// The maximum length of a value, which bounds allocations before any of it is read.
  static let greatestLength = Int(UInt32.max)

  /// The value's end, or `nil` if its offset or length is invalid: any process with write access can forge a record.
  var end: Int? {
    guard offset >= Self.leastOffset, 0...Self.greatestLength ~= length else { return nil }
    let (end, overflow) = offset.addingReportingOverflow(length)
    return overflow ? nil : end
  }
}
