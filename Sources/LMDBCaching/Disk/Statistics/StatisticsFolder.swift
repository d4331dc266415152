import Platform

/// The folder in which every process that has a cache open publishes what it does. Nothing in it is needed: it may be
/// removed at any time, and what is not named and does not begin as these files do is left alone.
struct StatisticsFolder {
  static let name = "statistics"
  private static let names = NumberedName(suffix: ".live")
  /// More processes than this are not looked for.
  static let mostFiles = 1_024
  /// How often a block is read that is being written meanwhile.
  private static let attempts = 8
  /// Nanoseconds for which a new file may be locked by who wants to know whose it is.
  private static let lockLimit: Int64 = 100_000_000

  let cache: Directory

  static func name(of identifier: UInt64) -> String { names.name(identifier) }

  /// Returns `nil` if the name is none of a block's.
  static func identifier(of name: String) -> UInt64? { names.number(of: name) }

  /// - Throws: For a link, or something else, in the folder's place.
  private func folder() throws(SystemError) -> Directory? { try cache.subdirectory(Self.name) }

  // MARK: The own file

  /// Makes a file, locked by this process.
  func makeFile() throws(SystemError) -> StatisticsFile {
    while true {
      let folder = try cache.makeSubdirectory(Self.name)
      let identifier = UInt64.random(in: .min ... .max)
      let name = Self.name(of: identifier)
      let lock = FileLock(try folder.create(name, .exclusively))
      do throws(SystemError) {
        // Another process may have taken it for a dead one's before it was locked, and removed it.
        if try lock.lock(.exclusive, within: Self.lockLimit), try lock.file.isStill(name, in: folder) {
          return StatisticsFile(lock, identifier, in: folder)
        }
      } catch {
        try folder.remove(name)
        throw error
      }
      try folder.remove(name)
    }
  }

  /// Removes the files of processes that are gone.
  ///
  /// - Parameter own: What this process publishes in is left alone.
  func sweep(except own: UInt64?) throws(SystemError) {
    guard let folder = try folder() else { return }
    for name in try folder.names() {
      guard let identifier = Self.identifier(of: name), identifier != own else { continue }
      // One that cannot be opened, or not be removed, is somebody else's to remove.
      do throws(SystemError) { try Self.removeIfOver(name, in: folder) } catch { continue }
    }
  }

  private static func removeIfOver(_ name: String, in folder: Directory) throws(SystemError) {
    guard try folder.status(of: name)?.kind == .regular, let file = try folder.open(name, requiresOneName: true) else {
      return
    }
    let lock = FileLock(file)
    guard try lock.tryLock(.exclusive), try lock.file.isStill(name, in: folder), try isOurs(lock.file) else { return }
    try folder.remove(name)
  }

  /// Whether it begins as it should, or has not been written yet: its owner died, or the power was cut.
  private static func isOurs(_ file: borrowing File) throws(SystemError) -> Bool {
    var beginning = [UInt8](repeating: 0, count: min(8, try file.status().size))
    guard try file.read(&beginning) else { return false }
    return StatisticsBlock.isOurs(beginning) || beginning.allSatisfy { $0 == 0 }
  }

  // MARK: What others publish

  /// What a file was found to say.
  enum Found {
    case statistics(ProcessStatistics)
    /// Its process lives, and it cannot be read, or is of another version.
    case unreadable
  }

  /// What all processes that live have published, each as of its last publication. Nothing is changed.
  func read() throws(SystemError) -> [Found] {
    guard let folder = try folder() else { return [] }
    var found: [Found] = []
    for name in try folder.names().sorted() {
      guard let identifier = Self.identifier(of: name) else { continue }
      if found.count == Self.mostFiles { break }
      do throws(SystemError) {
        if let one = try Self.read(identifier, name, in: folder) { found.append(one) }
      } catch {
        // Another user's, or of a device that fails: the others' can be read. A link, say, is no process's.
        if error.finding == nil { found.append(.unreadable) }
      }
    }
    return found
  }

  /// Returns `nil` if its process is gone.
  private static func read(
    _ identifier: UInt64, _ name: String, in folder: Directory
  ) throws(SystemError) -> Found? {
    guard let file = try folder.open(name, requiresOneName: true) else { return nil }
    let lock = FileLock(file)
    // Shared: others who look at the same time do not take each other for the owner.
    if try lock.tryLock(.shared) { return nil }
    for _ in 0..<attempts {
      var bytes = [UInt8](repeating: 0, count: StatisticsBlock.size)
      guard try lock.file.read(&bytes) else {
        // Its owner has not published yet.
        return try lock.file.status().size == 0 ? nil : .unreadable
      }
      if let block = StatisticsBlock.read(bytes, identifier: identifier) { return .statistics(block.statistics) }
      Waiting.system.yield()
    }
    return .unreadable
  }
}
