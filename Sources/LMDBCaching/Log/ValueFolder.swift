import Platform

/// The folder of the value log. Foreign files in it are left alone.
struct ValueFolder {
  static let name = "values"

  let cache: Directory

  /// - Throws: If the folder's name is taken by a link or another kind of file.
  private func folder() throws(SystemError) -> Directory? { try cache.subdirectory(Self.name) }

  struct Found {
    let identifier: UInt64
    let size: Int
  }

  func segments() throws(SystemError) -> [Found] {
    guard let folder = try folder() else { return [] }
    var found: [Found] = []
    for name in try folder.names() {
      guard let identifier = ValueSegment.identifier(ofName: name), let status = try folder.status(of: name),
        status.kind == .regular
      else { continue }
      found.append(Found(identifier: identifier, size: status.size))
    }
    return found
  }

  func size(_ identifier: UInt64) throws(SystemError) -> Int? { try folder()?.size(of: ValueSegment.name(identifier)) }

  /// Opens a segment for reading; returns `nil` for anything else.
  func open(_ identifier: UInt64) throws(SystemError) -> File? {
    guard let file = try folder()?.open(ValueSegment.name(identifier)),
      try ValueSegment.owner(file, identifier: identifier) != nil
    else { return nil }
    return file
  }

  /// Creates a segment, locked by this process; returns `nil` if another process removed it before it was locked.
  ///
  /// - Parameter synchronized: Whether the folder's name must survive a power cut.
  func make(_ identifier: UInt64, owner: UInt64, synchronized: Bool) throws(SystemError) -> FileLock? {
    let folder = try cache.makeSubdirectory(Self.name, synchronized: synchronized)
    let name = ValueSegment.name(identifier)
    let lock = FileLock(try folder.create(name, .exclusively))
    guard try lock.tryLock(.exclusive), try lock.file.isStill(name, in: folder) else { return nil }
    do throws(SystemError) {
      try ValueSegment.writeHeader(lock.file, identifier: identifier, owner: owner)
    } catch {
      try folder.remove(name)
      throw error
    }
    return lock
  }

  /// Locks a segment that no process uses and whose records are all in the database; otherwise returns `nil`. The
  /// lock's holder may remove it, move its values or append to it.
  func take(_ identifier: UInt64) throws(SystemError) -> FileLock? {
    let name = ValueSegment.name(identifier)
    guard let folder = try folder(), try folder.kind(of: name) == .regular, let file = try folder.open(name, .writing),
      try file.status().linkCount == 1
    else { return nil }
    let lock = FileLock(file)
    guard try lock.tryLock(.exclusive), try lock.file.isStill(name, in: folder) else { return nil }
    guard let owner = try ValueSegment.owner(lock.file, identifier: identifier) else {
      // Its writer died, or the power failed, before the header was on disk.
      if try Self.isBlank(lock.file) { return lock }
      return nil
    }
    if owner != 0, try JournalName.isTaken(owner, in: cache) { return nil }
    return lock
  }

  private static func isBlank(_ file: borrowing File) throws(SystemError) -> Bool {
    var header = [UInt8](repeating: 0, count: min(32, try file.status().size))
    guard try file.read(&header) else { return false }
    return header.allSatisfy { $0 == 0 } || header.count < 32 && ValueSegment.isOurs(header)
  }

  func remove(_ identifier: UInt64) throws(SystemError) { try folder()?.remove(ValueSegment.name(identifier)) }

  /// Whether a file is the segment in place.
  func has(_ identifier: UInt64, _ file: borrowing File) throws(SystemError) -> Bool {
    guard let folder = try folder() else { return false }
    return try file.isStill(ValueSegment.name(identifier), in: folder)
  }

  /// Restores the first `size` bytes of a file that lost its name.
  func restore(_ identifier: UInt64, _ file: borrowing File, size: Int) throws(SystemError) -> FileLock {
    let folder = try cache.makeSubdirectory(Self.name)
    let name = ValueSegment.name(identifier)
    // An older copy of the segment, for example.
    if try folder.kind(of: name) == .regular, try isOurs(name, in: folder) { try folder.remove(name) }
    let lock = FileLock(try folder.create(name, .exclusively))
    do throws(SystemError) {
      guard try lock.tryLock(.exclusive) else { throw SystemError("flock", lock.file.path, errno: EWOULDBLOCK) }
      try lock.file.write(0..<size, of: file)
    } catch {
      try folder.remove(name)
      throw error
    }
    return lock
  }

  /// Makes new names and removals durable.
  func synchronize() throws(SystemError) { try folder()?.synchronize() }

  // MARK: Caches that are discarded

  func removeAll() throws(SystemError) {
    guard let folder = try folder() else { return }
    for segment in try segments() {
      let name = ValueSegment.name(segment.identifier)
      if try isOurs(name, in: folder) { try folder.remove(name) }
    }
    try folder.synchronize()
  }

  /// Moves all other segments to a folder of another directory.
  func move(to destination: Directory, except kept: Set<UInt64>) throws(SystemError) {
    guard let folder = try folder() else { return }
    var moved: [String] = []
    for segment in try segments() where !kept.contains(segment.identifier) {
      let name = ValueSegment.name(segment.identifier)
      if try isOurs(name, in: folder) { moved.append(name) }
    }
    if moved.isEmpty { return }
    let target = try destination.makeSubdirectory(Self.name)
    for name in moved { try folder.rename(name, to: target, as: name) }
  }

  private func isOurs(_ name: String, in folder: Directory) throws(SystemError) -> Bool {
    guard let file = try folder.open(name) else { return false }
    var beginning = [UInt8](repeating: 0, count: min(8, try file.status().size))
    // An unreadable file counts as a segment by its name.
    guard let isWhole = try ifReadable({ () throws(SystemError) in try file.read(&beginning) }) else { return true }
    guard isWhole else { return false }
    return ValueSegment.isOurs(beginning) || beginning.allSatisfy { $0 == 0 }
  }
}
