import Platform

/// The file of a journal, locked by this process, and its map, as long as anything is appended to them.
///
/// A place in the map may be stored to only while the file has its blocks there: without them a full disk makes a store
/// SIGBUS.
final class JournalMemory: Sendable {
  private let lock: FileLock
  let map: MemoryMap

  init(_ lock: consuming FileLock, _ map: MemoryMap) {
    self.lock = lock
    self.map = map
  }

  /// Gives a part of the file its blocks.
  func reserve(_ part: Range<Int>) throws(SystemError) { try lock.file.preallocate(part) }

  /// Gives the blocks of a part back to the disk.
  func giveBack(_ part: Range<Int>) throws(SystemError) {
    try lock.file.punchHole(at: part.lowerBound, size: part.count)
  }
}
