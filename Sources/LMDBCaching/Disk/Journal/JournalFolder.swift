import Platform
import Synchronization

/// The journals of all processes that have a cache open. Other files in the folder are left alone.
struct JournalFolder: Sendable {
  /// The name of an unreadable journal that is kept for diagnosis; at most one is kept.
  static let damagedName = "damaged"

  let cache: Directory

  /// - Throws: If the folder's name is taken by a link or another kind of file.
  private func folder() throws(SystemError) -> Directory? { try cache.subdirectory(JournalName.folder) }

  func identifiers() throws(SystemError) -> [UInt64] {
    guard let folder = try folder() else { return [] }
    var found: [UInt64] = []
    for name in try folder.names() {
      if let identifier = JournalName.identifier(of: name), try folder.kind(of: name) == .regular {
        found.append(identifier)
      }
    }
    return found.sorted()
  }

  func makeFile(size: Int) throws(CacheError) -> JournalFile {
    do throws(SystemError) {
      return try JournalFile(in: try cache.makeSubdirectory(JournalName.folder), size: size)
    } catch {
      var activity = "Making the journal in \(cache.path)"
      if error.errno == ENOSPC, case .success(let free) = outcome({ () throws(SystemError) in try cache.freeSpace() }) {
        activity +=
          " (\(JournalFile.firstSize(of: size)) bytes, later up to journalSize, \(size); \(free) bytes are free)"
      }
      throw CacheError(error, during: activity)
    }
  }

  /// Whether another journal's process is alive.
  func hasOwner(but own: UInt64?) throws(SystemError) -> Bool {
    for identifier in try identifiers() where identifier != own {
      guard let file = try folder()?.open(JournalName.of(identifier), .writing, requiresOneName: true) else { continue }
      if try !FileLock(file).tryLock(.exclusive) { return true }
    }
    return false
  }

  /// Locks and reads a dead process's journal. Returns `nil` if it is in use, gone, or not a journal.
  func orphan(_ identifier: UInt64) throws(SystemError) -> OrphanedJournal? {
    guard let folder = try folder() else { return nil }
    return try OrphanedJournal(in: folder, name: JournalName.of(identifier))
  }

  /// Reads any journal without locking it.
  func image(_ identifier: UInt64) throws(SystemError) -> JournalImage? {
    guard let folder = try folder() else { return nil }
    return try JournalImage(in: folder, name: JournalName.of(identifier))
  }

  func identity(of identifier: UInt64) throws(SystemError) -> FileIdentity? {
    try folder()?.identity(of: JournalName.of(identifier))
  }

  /// Removes this process's journal, if it is still in place.
  func remove(_ identifier: UInt64, _ identity: FileIdentity) throws(SystemError) {
    guard let folder = try folder(), try folder.identity(of: JournalName.of(identifier)) == identity else { return }
    try folder.remove(JournalName.of(identifier))
  }

  /// Removes every dead process's journal, for a cache that is discarded.
  func removeAll() throws(SystemError) {
    guard let folder = try folder() else { return }
    for identifier in try identifiers() {
      if let orphan = try OrphanedJournal(in: folder, name: JournalName.of(identifier)) { try orphan.remove() }
    }
    try folder.synchronize()
  }

  // MARK: Exclusive use

  /// Tells the owner of every journal that it is no longer alone. Requires the opening lock.
  func revokeExclusiveUse() throws(SystemError) {
    for identifier in try identifiers() {
      guard let file = try openHeader(identifier, .writing) else { continue }
      try file.write(ExclusiveUse.setWord, at: ExclusiveUse.revokedOffset)
    }
    // The fence orders these stores before any check for unsettled writes.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
  }

  /// The first other journal with uncommitted conditional writes.
  func unsettled(but own: UInt64?) throws(SystemError) -> FileIdentity? {
    for identifier in try identifiers() where identifier != own {
      guard let file = try openHeader(identifier, .reading) else { continue }
      var word = ExclusiveUse.clearWord
      guard try file.read(&word, at: ExclusiveUse.unsettledOffset), word != ExclusiveUse.clearWord else { continue }
      return try file.identity()
    }
    return nil
  }

  /// Opens a journal with a complete header. Returns `nil` for anything else.
  private func openHeader(_ identifier: UInt64, _ access: File.Access) throws(SystemError) -> File? {
    guard let file = try folder()?.open(JournalName.of(identifier), access, requiresOneName: true) else { return nil }
    var beginning = [UInt8](repeating: 0, count: 8)
    guard try file.status().size >= JournalFile.headerSize,
      // The header of a mapped journal is in memory.
      try ifReadable({ () throws(SystemError) in try file.read(&beginning) }) == true, JournalFile.isOurs(beginning)
    else { return nil }
    return file
  }

  func synchronize() throws(SystemError) { try folder()?.synchronize() }

  /// Takes the lock of the one process that may replay journals, or returns `nil` after `timeout` nanoseconds.
  func takeReplayLock(timeout: Int64) throws(SystemError) -> ReplayLock? {
    guard let folder = try folder() else { return nil }
    let lock = try FileLock(folder)
    guard try lock.lock(.exclusive, within: timeout) else { return nil }
    return ReplayLock(lock: lock)
  }

  func holderOfReplayLock() throws(SystemError) -> LockHolder? {
    guard let folder = try folder() else { return nil }
    return LockHolder.exclusive(of: folder.identity)
  }
}

struct ReplayLock: ~Copyable {
  private let lock: FileLock

  fileprivate init(lock: consuming FileLock) { self.lock = lock }

  consuming func end() {}
}
