import Platform

/// The journal of a process that is gone, locked by this one and read into memory.
struct OrphanedJournal: ~Copyable {
  let name: String
  private let folder: Directory
  private let lock: FileLock
  private let contents: UnsafeMutableRawBufferPointer
  let identifier: UInt64
  /// Oldest first; valid as long as this value lives.
  let runs: [JournalRun]
  /// Whether it was made since the system was started: then no power cut has taken anything away from it.
  let isOfThisRun: Bool
  /// Whether the header is damaged, so that nothing can be read, or the device does not give all of it.
  let isDamaged: Bool

  /// Reads what the device gives: a block that cannot be read is not there the next time either, and the cache could not be
  /// opened any more. What is behind it is missing then, as after a power cut.
  ///
  /// Returns `nil` if the journal's owner lives, another process is at it, it is gone, or it is no journal.
  init?(in folder: Directory, name: String) throws(SystemError) {
    guard let file = try folder.open(name, .writing, requiresOneName: true) else { return nil }
    let lock = FileLock(file)
    guard try lock.tryLock(.exclusive), try lock.file.isStill(name, in: folder) else { return nil }
    let size = try lock.file.status().size
    var beginning = [UInt8](repeating: 0, count: min(8, size))
    guard try ifReadable({ () throws(SystemError) in try lock.file.read(&beginning) }) != false else { return nil }
    // An owner that died before it had written anything leaves an empty file, a power cut one of zeros. What cannot be read
    // counts as such.
    guard JournalFile.isOurs(beginning) || beginning.allSatisfy({ $0 == 0 }) else { return nil }
    // Larger than any journal that can be configured: what is larger was not made by this package.
    let contents = try UnsafeMutableRawBufferPointer.allocated(
      byteCount: size <= JournalFile.maximumSize ? size : 0, for: lock.file.path)
    var isWhole = true
    var found: (identifier: UInt64, runs: [JournalRun])?
    do throws(SystemError) {
      if try Self.read(lock.file, contents, isWhole: &isWhole) {
        found = JournalFile.runs(in: UnsafeRawBufferPointer(contents))
      }
    } catch {
      free(contents.baseAddress)
      throw error
    }
    self.name = name
    self.folder = folder
    self.lock = lock
    self.contents = contents
    identifier = found?.identifier ?? 0
    runs = found?.runs ?? []
    isOfThisRun = JournalFile.boot(UnsafeRawBufferPointer(contents)).isKnownToBe(.current)
    // The header is written when the file has its blocks.
    isDamaged =
      !isWhole || found == nil && contents.count >= JournalFile.headerSize && contents[8..<40].contains { $0 != 0 }
  }

  /// Fills `bytes` with the file; `false` if it ends before. Blocks that the device does not give are zeros.
  private static func read(
    _ file: borrowing File, _ bytes: UnsafeMutableRawBufferPointer, isWhole: inout Bool
  ) throws(SystemError) -> Bool {
    if let isThere = try ifReadable({ () throws(SystemError) in try file.read(bytes) }) { return isThere }
    isWhole = false
    for start in stride(from: 0, to: bytes.count, by: 4096) {
      let block = UnsafeMutableRawBufferPointer(rebasing: bytes[start..<min(start + 4096, bytes.count)])
      switch try ifReadable({ () throws(SystemError) in try file.read(block, at: start) }) {
      case true: break
      case false: return false
      case nil: block.initializeMemory(as: UInt8.self, repeating: 0)
      }
    }
    return true
  }

  deinit { free(contents.baseAddress) }

  /// Removes the file, once its frames are in the database. One that is damaged is kept under another name.
  consuming func remove() throws(SystemError) {
    if isDamaged {
      try folder.rename(name, to: JournalFolder.damagedName)
    } else {
      try folder.remove(name)
    }
  }
}
