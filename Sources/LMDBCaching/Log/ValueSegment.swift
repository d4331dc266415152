import Dispatch
import Foundation
import Platform
import Synchronization

/// A file of the value log. One process locks it and appends values, which never change, so any process may read a
/// referenced value at any time.
///
///     offset  bytes
///          0      8  "LMDBCVS1"
///          8      8  identifier, as in the name
///         16      8  the journal of its values' records, or 0 once all are in the database
///         24      8  XXH3 of the first 16 bytes
///         64      …  the values (``ValueEntry``)
///
/// A crash or a power cut may leave a torn entry, whose checksums do not match; no valid record refers to it.
enum ValueSegment {
  static let headerSize = ValuePointer.leastOffset
  private static let names = NumberedName(suffix: ".values")
  private static let magic: UInt64 = 0x3153_5643_4244_4D4C
  private static let magicBytes = magic.littleEndian.bytes
  private static let ownerOffset = 16

  static func name(_ identifier: UInt64) -> String { names.name(identifier) }

  static func identifier(ofName name: String) -> UInt64? { names.number(of: name) }

  static func isOurs(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magicBytes) }

  static func writeHeader(_ file: borrowing File, identifier: UInt64, owner: UInt64) throws(SystemError) {
    var header = [UInt8](repeating: 0, count: headerSize)
    header.withMutableBytes {
      $0.store(magic)
      $0.store(identifier, at: 8)
      $0.store(owner, at: ownerOffset)
      $0.store(ByteView($0[..<16]).hash(seed: 0), at: 24)
    }
    try file.write(header, at: 0)
  }

  /// Sets the journal of its values' records. Requires the segment's lock.
  static func writeOwner(_ owner: UInt64, _ file: borrowing File) throws(SystemError) {
    try file.write(owner.littleEndian.bytes, at: ownerOffset)
  }

  /// The journal of its values' records; `nil` for another kind of file.
  static func owner(_ file: borrowing File, identifier: UInt64) throws(SystemError) -> UInt64? {
    var header = [UInt8](repeating: 0, count: 32)
    guard try file.read(&header) else { return nil }
    return header.withBytes { header -> UInt64? in
      func word(_ offset: Int) -> UInt64 { header.load(offset) }
      guard word(0) == magic, word(8) == identifier, word(24) == header[..<16].hash(seed: 0) else { return nil }
      return word(ownerOffset)
    }
  }
}

/// A segment of the ``ValueLog`` that this process has appended to, locked for this object's lifetime.
// Sendable: `owner`, `tail`, `allocated` and `boundary` are accessed with the log's lock held, `isSuspect` while
// synchronizing; the rest is atomic or constant.
final class GrowingSegment: @unchecked Sendable {
  /// Counts appended values whose records are in no journal yet.
  final class Holds: Sendable {
    let count = Atomic<Int>(0)
  }

  let identifier: UInt64
  /// The journal of its values' records.
  var owner: UInt64
  let lock: FileLock
  let holds: Holds
  let writers = Atomic<Int>(0)
  let isDirty = Atomic<Bool>(false)

  /// Whether a sync failed, after which the system may treat unwritten pages as written.
  var isSuspect = false

  var tail: Int
  /// The end of the known allocated blocks.
  var allocated: Int
  /// The number of the journal's segment with the last record, once nothing more is appended.
  var boundary: Int?

  init(_ identifier: UInt64, owner: UInt64, _ lock: consuming FileLock, tail: Int, holds: Holds = Holds()) {
    self.identifier = identifier
    self.owner = owner
    self.lock = lock
    self.tail = tail
    self.holds = holds
    allocated = tail
  }
}

/// A value in the log whose record is not written yet.
struct AppendedValue {
  let pointer: ValuePointer
  fileprivate let holds: GrowingSegment.Holds

  init(_ pointer: ValuePointer, in segment: GrowingSegment) {
    self.pointer = pointer
    holds = segment.holds
  }

  /// Call when the record is in the journal or the database, or will never be.
  func end() { holds.count.subtract(1, ordering: .releasing) }
}

final class ReadableSegment: Sendable {
  /// Values from this length on are read in place if in memory; checking takes as long as copying a shorter one.
  private static let mappedLength = 16 << 10

  private final class Opened: Sendable {
    let file: File
    let map = Mutex<MemoryMap?>(nil)

    init(_ file: consuming File) { self.file = file }
  }

  // Sendable: set to `nil` only in `deinit`.
  private nonisolated(unsafe) var opened: Opened!
  /// The map's size; the file may be shorter and grow.
  private let mapSize: Int
  private let isMapTried: Atomic<Bool>
  /// In uses of the reader.
  let lastUse = Atomic<UInt64>(0)

  init(_ file: consuming File, segmentSize: Int, maps: Bool) throws(SystemError) {
    let opened = Opened(file)
    unsafe self.opened = opened
    let page = MemoryMap.pageSize
    let status = try opened.file.status()
    // A foreign file can have any length.
    mapSize = max(segmentSize, status.size).addingClamped(page - 1) / page * page
    // The system does not reveal which pages of another user's file are in memory.
    isMapTried = Atomic(!maps || status.owner != geteuid())
  }

  deinit {
    // The last reader must not wait while the system frees the blocks.
    if isRemoved, let opened = unsafe opened.take() { SegmentClosing.release(opened) }
  }

  var isRemoved: Bool {
    do throws(SystemError) { return try unsafe opened.file.status().linkCount == 0 } catch { return false }
  }

  func synchronize() throws(SystemError) { try unsafe opened.file.synchronize() }

  /// Whether a value may end there. Asks the system only beyond the usual segment size; within it, reading shows.
  func mayReach(_ end: Int) throws(SystemError) -> Bool {
    if end <= mapSize { return true }
    return try unsafe opened.file.status().size >= end
  }

  /// Fills `bytes` from an offset; returns `false` if the file is shorter.
  func read(_ bytes: MutableByteView, at offset: Int) throws(SystemError) -> Bool {
    if let mapped = mappedBytes(at: offset, count: bytes.count) {
      bytes.copy(mapped)
      return true
    }
    return try unsafe opened.file.read(bytes.buffer, at: offset)
  }

  /// Returns the bytes at an offset in place if there are many and all are in memory. Valid for this object's lifetime.
  ///
  /// Resident pages need no device, whose failure would raise a signal, and lie within the file: a truncated file has
  /// none beyond its end.
  func mappedBytes(at offset: Int, count: Int) -> ByteView? {
    guard count >= Self.mappedLength, let map = mapped, offset <= map.size - count,
      map.isResident(offset, count: count)
    else { return nil }
    return unsafe ByteView(UnsafeRawBufferPointer(start: map.base + offset, count: count))
  }

  /// `nil` where the address space is limited: it is left to the process, and values are copied.
  private var mapped: MemoryMap? {
    unsafe opened.map.withLock { map in
      if let map { return map }
      if isMapTried.exchange(true, ordering: .relaxed) || MemoryMap.isAddressSpaceLimited { return nil }
      do throws(SystemError) { map = try unsafe MemoryMap(opened.file, size: mapSize, .reading) } catch {}
      return map
    }
  }
}

/// Closes removed segments on a separate thread. The last close waits while the system frees the file's blocks: 0.7 s
/// were measured on a device mounted with `discard`.
enum SegmentClosing {
  private static let queue = DispatchQueue(label: "LMDB closing")

  /// Releases the only reference to an object that holds a file open.
  static func release<Holder: AnyObject & Sendable>(_ holder: consuming Holder) {
    let kept = unsafe Unmanaged.passRetained(holder)
    _ = consume holder
    queue.async { unsafe kept.release() }
  }

  static func release(_ lock: consuming FileLock) { release(Locked(lock)) }

  private final class Locked: Sendable {
    private let lock: FileLock

    init(_ lock: consuming FileLock) { self.lock = lock }
  }

  /// Waits until everything released is closed.
  static func drain() { queue.sync {} }
}

/// The part of a value log segment that the database's entries refer to. Updated in the transactions that change
/// entries; unreferenced segments have none.
struct SegmentUsage: Equatable, Sendable {
  static let size = 16

  /// Bytes of the log's entries, including their heads.
  var bytes = 0
  var count = 0

  init(bytes: Int = 0, count: Int = 0) {
    self.bytes = bytes
    self.count = count
  }

  init(_ stored: ByteView) {
    guard stored.count == Self.size else { return }
    bytes = max(0, stored.load(as: Int.self))
    count = max(0, stored.load(8, as: Int.self))
  }

  var stored: [UInt8] {
    [bytes, count].flatMap { $0.littleEndian.bytes }
  }

  // Wrapping, because a forged record may have any length.

  mutating func add(_ pointer: ValuePointer, keyLength: Int) {
    bytes &+= ValueEntry.size(keyLength: keyLength, length: pointer.length)
    count &+= 1
  }

  mutating func subtract(_ pointer: ValuePointer, keyLength: Int) {
    bytes &-= ValueEntry.size(keyLength: keyLength, length: pointer.length)
    count &-= 1
  }

  static func + (first: SegmentUsage, second: SegmentUsage) -> SegmentUsage {
    SegmentUsage(bytes: first.bytes &+ second.bytes, count: first.count &+ second.count)
  }

  // MARK: Where it is in the database

  static let keyPrefix: [UInt8] = [DatabaseKey.reservedMarker, UInt8(ascii: "s")]

  static func key(_ segment: UInt64) -> [UInt8] { keyPrefix + segment.bigEndian.bytes }

  static func segment(ofKey key: ByteView) -> UInt64? {
    guard key.count == 10, key.starts(with: keyPrefix) else { return nil }
    return key.load(2, as: UInt64.self).byteSwapped
  }
}
