import Platform

/// A dead process's journal, locked by this process and read into memory.
struct OrphanedJournal: ~Copyable {
  let name: String
  private let folder: Directory
  private let lock: FileLock
  private let contents: UnsafeMutableRawBufferPointer
  let identifier: UInt64
  /// Oldest first; valid for this value's lifetime.
  let runs: [JournalRun]
  /// Whether it was created in this boot, so that no power cut affected it.
  let isOfThisRun: Bool
  /// Whether the header is damaged, or the device could not read all of it.
  let isDamaged: Bool

  /// Reads what the device can: an unreadable block would otherwise keep the cache from ever opening. What follows it
  /// is lost, as after a power cut.
  ///
  /// Returns `nil` if the journal is in use, gone, or another kind of file.
  init?(in folder: Directory, name: String) throws(SystemError) {
    guard let file = try folder.open(name, .writing, requiresOneName: true) else { return nil }
    let lock = FileLock(file)
    guard try lock.tryLock(.exclusive), try lock.file.isStill(name, in: folder) else { return nil }
    let size = try lock.file.status().size
    var beginning = [UInt8](repeating: 0, count: min(8, size))
    guard try ifReadable({ () throws(SystemError) in try lock.file.read(&beginning) }) != false else { return nil }
    // A dead owner may leave an empty file, and a power cut one of zeros. An unreadable header counts as such.
    guard JournalFile.isOurs(beginning) || beginning.allSatisfy({ $0 == 0 }) else { return nil }
    // A file larger than any valid journal is not this package's.
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
    // The header is written after the file has its blocks.
    isDamaged =
      !isWhole || found == nil && contents.count >= JournalFile.headerSize && contents[8..<40].contains { $0 != 0 }
  }

  /// Fills `bytes`; returns `false` if the file is shorter. Unreadable blocks become zeros.
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

  /// Removes the file after its frames are in the database. A damaged one is kept under another name.
  consuming func remove() throws(SystemError) {
    if isDamaged {
      try folder.rename(name, to: JournalFolder.damagedName)
    } else {
      try folder.remove(name)
    }
  }
}
