import Foundation
import Platform
import Synchronization

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
    self.opened = opened
    let page = MemoryMap.pageSize
    let status = try opened.file.status()
    // A foreign file can have any length.
    mapSize = max(segmentSize, status.size).addingClamped(page - 1) / page * page
    // The system does not reveal which pages of another user's file are in memory.
    isMapTried = Atomic(!maps || status.owner != geteuid())
  }

  deinit {
    // The last reader must not wait while the system frees the blocks.
    if isRemoved, let opened = opened.take() { SegmentClosing.release(opened) }
  }

  var isRemoved: Bool {
    do throws(SystemError) { return try opened.file.status().linkCount == 0 } catch { return false }
  }

  func synchronize() throws(SystemError) { try opened.file.synchronize() }

  /// Whether a value may end there. Asks the system only beyond the usual segment size; within it, reading shows.
  func mayReach(_ end: Int) throws(SystemError) -> Bool {
    if end <= mapSize { return true }
    return try opened.file.status().size >= end
  }

  /// Fills `bytes` from an offset; returns `false` if the file is shorter.
  func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Bool {
    if let mapped = mappedBytes(at: offset, count: bytes.count) {
      bytes.copyMemory(from: mapped)
      return true
    }
    return try opened.file.read(bytes, at: offset)
  }

  /// Returns the bytes at an offset in place if there are many and all are in memory. Valid for this object's lifetime.
  ///
  /// Resident pages need no device, whose failure would raise a signal, and lie within the file: a truncated file has
  /// none beyond its end.
  func mappedBytes(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
    guard count >= Self.mappedLength, let map = mapped, offset <= map.size - count,
      map.isResident(offset, count: count)
    else { return nil }
    return UnsafeRawBufferPointer(start: map.base + offset, count: count)
  }

  /// `nil` where the address space is limited: it is left to the process, and values are copied.
  private var mapped: MemoryMap? {
    opened.map.withLock { map in
      if let map { return map }
      if isMapTried.exchange(true, ordering: .relaxed) || MemoryMap.isAddressSpaceLimited { return nil }
      do throws(SystemError) { map = try MemoryMap(opened.file, size: mapSize, .reading) } catch {}
      return map
    }
  }
}
