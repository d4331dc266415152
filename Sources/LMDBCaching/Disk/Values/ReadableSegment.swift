import Foundation
import Platform
import Synchronization

/// A segment that values are read from. Threads: any.
final class ReadableSegment: Sendable {
  /// Values from this length on are read where they lie in memory, if they do: asking whether they do takes as long as
  /// copying a shorter one.
  private static let mappedLength = 16 << 10

  /// What is open of it.
  private final class Opened: Sendable {
    let file: File
    let map = Mutex<MemoryMap?>(nil)

    init(_ file: consuming File) { self.file = file }
  }

  // Sendable: set to `nil` when this object ends only.
  private nonisolated(unsafe) var opened: Opened!
  /// Bytes of the map; the file may be shorter, and grow.
  private let mapSize: Int
  private let isMapTried: Atomic<Bool>
  /// When it was used last, in uses of the reader.
  let lastUse = Atomic<UInt64>(0)

  init(_ file: consuming File, segmentSize: Int, maps: Bool) throws(SystemError) {
    let opened = Opened(file)
    self.opened = opened
    let page = MemoryMap.pageSize
    let status = try opened.file.status()
    // A file that somebody made can be of any length.
    mapSize = max(segmentSize, status.size).addingClamped(page - 1) / page * page
    // Of others' files the system does not tell what is in memory.
    isMapTried = Atomic(!maps || status.owner != geteuid())
  }

  deinit {
    // Whoever reads from it last must not wait until the system has freed its blocks.
    if isRemoved, let opened = opened.take() { SegmentClosing.release(opened) }
  }

  /// Whether somebody has removed it.
  var isRemoved: Bool {
    do throws(SystemError) { return try opened.file.status().linkCount == 0 } catch { return false }
  }

  func synchronize() throws(SystemError) { try opened.file.synchronize() }

  /// Whether a value may end there. As far as every segment may get the system is not asked: it is found out by reading.
  func mayReach(_ end: Int) throws(SystemError) -> Bool {
    if end <= mapSize { return true }
    return try opened.file.status().size >= end
  }

  /// Fills `bytes` with what is at an offset; `false` if the file ends before.
  func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(SystemError) -> Bool {
    if let mapped = mappedBytes(at: offset, count: bytes.count) {
      bytes.copyMemory(from: mapped)
      return true
    }
    return try opened.file.read(bytes, at: offset)
  }

  /// What is at an offset, if it is long and in memory now. It is valid as long as this object.
  ///
  /// Pages that are in memory are read without the device, whose failure would be a signal, and they are in the file: one
  /// that somebody has cut off has none there.
  func mappedBytes(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
    guard count >= Self.mappedLength, let map = mapped, offset <= map.size - count,
      map.isResident(offset, count: count)
    else { return nil }
    return UnsafeRawBufferPointer(start: map.base + offset, count: count)
  }

  /// `nil` where addresses are counted: they are left to what the process needs for its memory, and values are copied.
  private var mapped: MemoryMap? {
    opened.map.withLock { map in
      if let map { return map }
      if isMapTried.exchange(true, ordering: .relaxed) || MemoryMap.isAddressSpaceLimited { return nil }
      do throws(SystemError) { map = try MemoryMap(opened.file, size: mapSize, .reading) } catch {}
      return map
    }
  }
}
