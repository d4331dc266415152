import Platform
import Synchronization

/// This process's journal: a locked, memory-mapped file of segments. Writes go to one while others are committed.
///
///     offset  bytes
///          0      8  "LMDBCJN1"
///          8      8  identifier
///         16      8  bytes of a segment
///         24      8  number of segments
///         32      8  XXH3 of the bytes before it
///         40     16  boot identifier of its creation; 0: unknown
///         64      8  two words of ``ExclusiveUse``, 64 bytes apart
///       4096      …  the segments (``JournalSegment``)
///
/// Stores through the map survive a process crash without a system call. Segments start with few blocks and reserve
/// more before they grow, so a full disk cannot turn a store into SIGBUS. The lock ends with the process; a journal
/// without a lock is replayed by whoever finds it.
struct JournalFile: ~Copyable {
  static let headerSize = 4096
  /// A larger file is forged, not a journal.
  static let maximumSize = (1 << 30) + headerSize
  static let segmentCount = 4
  private static let magic: UInt64 = 0x314E_4A43_4244_4D4C  // "LMDBCJN1"
  private static let magicBytes = magic.littleEndian.bytes

  let identifier: UInt64
  let identity: FileIdentity
  private let memory: JournalMemory
  let segmentSize: Int

  var map: MemoryMap { memory.map }

  /// The initial size on disk of a new journal.
  static func firstSize(of size: Int) -> Int { headerSize + min(size, segmentCount * JournalSegment.bytesKept) }

  /// Creates a journal whose segments total `size` bytes, with another identifier if this one is in use.
  init(_ identifier: UInt64, in folder: Directory, size: Int) throws(SystemError) {
    let segmentSize = size / Self.segmentCount & ~4095
    var identifier = identifier
    let lock = try Self.makeLocked(&identifier, in: folder)
    let name = JournalName.of(identifier)
    let map = try Self.map(lock.file, segmentSize, name, in: folder)
    identity = try lock.file.identity()
    let header = Self.header(map)
    Self.writeHeader(
      to: header, identifier: identifier, segmentSize: segmentSize, count: Self.segmentCount, boot: .current)
    // Until this process knows that it is alone.
    ExclusiveUse(journal: header).revoke()
    memory = JournalMemory(lock, map)
    self.identifier = identifier
    self.segmentSize = segmentSize
  }

  private static func makeLocked(_ identifier: inout UInt64, in folder: Directory) throws(SystemError) -> FileLock {
    while true {
      let name = JournalName.of(identifier)
      let file: File
      do throws(SystemError) { file = try folder.create(name, .exclusively) } catch {
        // Left by an attempt that failed: recovery removes it.
        guard error.errno == EEXIST else { throw error }
        identifier = .random(in: .min ... .max)
        continue
      }
      let lock = FileLock(file)
      if try lock.tryLock(.exclusive), try lock.file.isStill(name, in: folder) { return lock }
      // Before the lock, another process may have taken the empty file for a dead process's and removed it, or will.
      identifier = .random(in: .min ... .max)
    }
  }

  private static func map(
    _ file: borrowing File, _ segmentSize: Int, _ name: String, in folder: Directory
  ) throws(SystemError) -> MemoryMap {
    do throws(SystemError) {
      file.disableCopyOnWrite()
      // The magic comes first: a file without it is never taken for a journal.
      try file.write(magicBytes, at: 0)
      let size = headerSize + segmentCount * segmentSize
      try file.truncate(to: size)
      #if canImport(Darwin)
        // It has no call for a part of a file.
        try file.preallocate(0..<size)
      #else
        try file.preallocate(0..<headerSize)
        for start in stride(from: headerSize, to: size, by: segmentSize) {
          try file.preallocate(JournalSegment.keptPart(at: start, capacity: segmentSize))
        }
      #endif
      return try MemoryMap(file, size: size)
    } catch {
      try folder.remove(name)
      throw error
    }
  }

  static func writeHeader(
    to file: MutableByteView, identifier: UInt64, segmentSize: Int, count: Int, boot: BootIdentifier
  ) {
    file.store(magic)
    file.store(identifier, at: 8)
    file.store(UInt64(segmentSize), at: 16)
    file.store(UInt64(count), at: 24)
    file.store(ByteView(file[..<32]).hash(seed: 0), at: 32)
    file.store(boot.high, at: 40)
    file.store(boot.low, at: 48)
  }

  static func isOurs(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magicBytes) }

  /// Whether its process is the only one that has the cache open.
  var exclusiveUse: ExclusiveUse { ExclusiveUse(journal: Self.header(map)) }

  private static func header(_ map: MemoryMap) -> MutableByteView {
    unsafe MutableByteView(start: map.base, count: headerSize)
  }

  var location: (identifier: UInt64, identity: FileIdentity) { (identifier, identity) }

  func makeSegments() -> [JournalSegment] {
    (0..<Self.segmentCount).map {
      JournalSegment(in: memory, at: Self.headerSize + $0 * segmentSize, capacity: segmentSize, seed: identifier)
    }
  }

  /// The length of the header's constant fields.
  static let fieldsSize = 56

  /// The boot in which a journal was created.
  ///
  /// - Parameter header: Its first ``fieldsSize`` bytes, or more; may be damaged or truncated.
  static func boot(_ header: ByteView) -> BootIdentifier {
    guard header.count >= fieldsSize else { return .unknown }
    return BootIdentifier(high: header.load(40), low: header.load(48))
  }

  struct Layout {
    let identifier: UInt64
    let segmentSize: Int
    let segmentCount: Int

    func start(ofSegment index: Int) -> Int { JournalFile.headerSize + index * segmentSize }
  }

  /// Parses a journal's header, its first 40 bytes or more. Returns `nil` if it is damaged or not a journal's.
  static func layout(_ header: ByteView, size: Int) -> Layout? {
    guard header.count >= 40, size >= headerSize, header.load(as: UInt64.self) == magic,
      header.load(32, as: UInt64.self) == header[..<32].hash(seed: 0)
    else { return nil }
    let segmentSize: UInt64 = header.load(16)
    let count: UInt64 = header.load(24)
    guard count > 0, count <= 64, segmentSize <= UInt64(size - headerSize) / count, segmentSize.isMultiple(of: 8)
    else { return nil }
    return Layout(
      identifier: header.load(8), segmentSize: Int(segmentSize),
      segmentCount: Int(count))
  }
}

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

  func makeFile(size: Int, _ identifier: UInt64 = .random(in: .min ... .max)) throws(CacheError) -> JournalFile {
    do throws(SystemError) {
      return try JournalFile(identifier, in: try cache.makeSubdirectory(JournalName.folder), size: size)
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

  /// Locks and reads a dead process's journal. Returns `nil` if it is in use, gone, or not a journal's.
  func orphan(_ identifier: UInt64) throws(SystemError) -> OrphanedJournal? {
    guard let folder = try folder() else { return nil }
    return try OrphanedJournal(in: folder, name: JournalName.of(identifier))
  }

  /// Reads any journal without locking it.
  func image(_ identifier: UInt64) throws(SystemError) -> JournalImage? {
    guard let file = try folder()?.open(JournalName.of(identifier)) else { return nil }
    return try JournalImage.read(file)
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

enum JournalName {
  static let folder = "journals"
  private static let names = NumberedName(suffix: ".journal")

  static func of(_ identifier: UInt64) -> String { names.name(identifier) }

  static func identifier(of name: String) -> UInt64? { names.number(of: name) }

  /// Whether a journal exists: a process has it open, or it awaits a replay.
  static func isTaken(_ identifier: UInt64, in cache: Directory) throws(SystemError) -> Bool {
    guard let folder = try cache.subdirectory(folder) else { return false }
    return try folder.kind(of: of(identifier)) == .regular
  }
}

/// File names made of a number in 16 hexadecimal digits and a suffix.
struct NumberedName {
  let suffix: String

  func name(_ number: UInt64) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits + suffix
  }

  func number(of name: String) -> UInt64? {
    guard name.hasSuffix(suffix), name.utf8.count == 16 + suffix.utf8.count else { return nil }
    let digits = name.dropLast(suffix.count)
    guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }) else { return nil }
    return UInt64(digits, radix: 16)
  }
}
