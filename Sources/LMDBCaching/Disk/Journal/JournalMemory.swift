import Platform

/// A journal's locked file and its map, kept alive by its segments. Store only where the file has blocks: on a full
/// disk, a store elsewhere raises SIGBUS.
final class JournalMemory: Sendable {
  private let lock: FileLock
  let map: MemoryMap

  init(_ lock: consuming FileLock, _ map: MemoryMap) {
    self.lock = lock
    self.map = map
  }

  /// Allocates blocks for a part of the file.
  func reserve(_ part: Range<Int>) throws(SystemError) { try lock.file.preallocate(part) }

  func giveBack(_ part: Range<Int>) throws(SystemError) {
    try lock.file.punchHole(at: part.lowerBound, size: part.count)
  }
}
