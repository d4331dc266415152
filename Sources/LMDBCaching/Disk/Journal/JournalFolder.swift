import Platform
import Synchronization

/// The folder of the journals of all processes that have a cache open. Files in it that are no journals are left alone.
struct JournalFolder: Sendable {
  /// What a journal is called that cannot be read, and is kept for who wants to know. There is at most one.
  static let damagedName = "damaged"

  let cache: Directory

  /// - Throws: For a link, or something else, in the folder's place.
  private func folder() throws(SystemError) -> Directory? { try cache.subdirectory(JournalName.folder) }

  /// The journals there are.
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

  /// Makes a new journal, locked by this process.
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

  /// Whether a process lives that a journal belongs to, but for this one's own.
  func hasOwner(but own: UInt64?) throws(SystemError) -> Bool {
    for identifier in try identifiers() where identifier != own {
      guard let file = try folder()?.open(JournalName.of(identifier), .writing, requiresOneName: true) else { continue }
      if try !FileLock(file).tryLock(.exclusive) { return true }
    }
    return false
  }

  /// The journal of a process that is gone. Returns `nil` if its owner lives, another process is at it, it is gone, or it
  /// is no journal.
  func orphan(_ identifier: UInt64) throws(SystemError) -> OrphanedJournal? {
    guard let folder = try folder() else { return nil }
    return try OrphanedJournal(in: folder, name: JournalName.of(identifier))
  }

  /// What is in a journal, of whoever: see ``JournalImage``.
  func image(_ identifier: UInt64) throws(SystemError) -> JournalImage? {
    guard let folder = try folder() else { return nil }
    return try JournalImage(in: folder, name: JournalName.of(identifier))
  }

  /// Which file is in the place of a journal.
  func identity(of identifier: UInt64) throws(SystemError) -> FileIdentity? {
    try folder()?.identity(of: JournalName.of(identifier))
  }

  /// Removes a journal of this process, if it is still in its place.
  func remove(_ identifier: UInt64, _ identity: FileIdentity) throws(SystemError) {
    guard let folder = try folder(), try folder.identity(of: JournalName.of(identifier)) == identity else { return }
    try folder.remove(JournalName.of(identifier))
  }

  /// Removes every journal, of whoever. For a cache that is discarded.
  func removeAll() throws(SystemError) {
    guard let folder = try folder() else { return }
    for identifier in try identifiers() {
      if let orphan = try OrphanedJournal(in: folder, name: JournalName.of(identifier)) { try orphan.remove() }
    }
    try folder.synchronize()
  }

  // MARK: Exclusive use

  /// Tells the owner of every journal that it is not alone any more. With the opening lock held.
  func revokeExclusiveUse() throws(SystemError) {
    for identifier in try identifiers() {
      guard let file = try openHeader(identifier, .writing) else { continue }
      try file.write(ExclusiveUse.setWord, at: ExclusiveUse.revokedOffset)
    }
    // Before anybody looks for what is unsettled.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
  }

  /// The first of the journals that have conditional writes which are not committed, but for this process's own.
  func unsettled(but own: UInt64?) throws(SystemError) -> FileIdentity? {
    for identifier in try identifiers() where identifier != own {
      guard let file = try openHeader(identifier, .reading) else { continue }
      var word = ExclusiveUse.clearWord
      guard try file.read(&word, at: ExclusiveUse.unsettledOffset), word != ExclusiveUse.clearWord else { continue }
      return try file.identity()
    }
    return nil
  }

  /// Opens a journal that has a header. Returns `nil` for what is gone, is being made, or is no journal.
  private func openHeader(_ identifier: UInt64, _ access: File.Access) throws(SystemError) -> File? {
    guard let file = try folder()?.open(JournalName.of(identifier), access, requiresOneName: true) else { return nil }
    var beginning = [UInt8](repeating: 0, count: 8)
    guard try file.status().size >= JournalFile.headerSize,
      // Of a journal that a process has mapped, the header is in memory.
      try ifReadable({ () throws(SystemError) in try file.read(&beginning) }) == true, JournalFile.isOurs(beginning)
    else { return nil }
    return file
  }

  /// Makes removals durable.
  func synchronize() throws(SystemError) { try folder()?.synchronize() }

  /// The right to apply the journals of processes that died, of one process at a time. Returns `nil` if another process
  /// has it and does not end in time.
  ///
  /// - Parameter timeout: Nanoseconds.
  func takeReplayLock(timeout: Int64) throws(SystemError) -> ReplayLock? {
    guard let folder = try folder() else { return nil }
    let lock = try FileLock(folder)
    guard try lock.lock(.exclusive, within: timeout) else { return nil }
    return ReplayLock(lock: lock)
  }

  /// Who has the right now, for a message.
  func holderOfReplayLock() throws(SystemError) -> LockHolder? {
    guard let folder = try folder() else { return nil }
    return LockHolder.exclusive(of: folder.identity)
  }
}

/// See ``JournalFolder/takeReplayLock(timeout:)``. It ends with its owner.
struct ReplayLock: ~Copyable {
  private let lock: FileLock

  fileprivate init(lock: consuming FileLock) { self.lock = lock }

  consuming func end() {}
}
