import LMDB
import Platform

/// Checks a garage's directory before its files are mapped: excludes other openers, ensures that it is a garage or
/// empty, and that its data file is sound.
///
/// LMDB trusts its map: a truncated file ends the process with SIGBUS, a damaged page with `abort()`. So a file without
/// a valid ``StateMark`` is verified by `pread` first. An untrusted file is an error and left unchanged, never deleted.
struct GarageOpening: ~Copyable {
  let directory: Directory
  /// Excludes other openers until the garage is open.
  private let lock: FileLock
  /// A shared lock of the mark's file, held while the garage is open.
  private let markLock: FileLock

  static let dataFile = "data.mdb"
  private static let lockFile = "lock.mdb"
  private static let ownNames: Set = [dataFile, lockFile, StateMark.name]
  /// Files of a cache of this package, in addition to its database.
  private static let cacheNames: Set = ["processes.lock", "clean-exit", "journals"]
  /// Files that systems add anywhere.
  private static let ignoredNames: Set = [".DS_Store"]

  /// How long to wait for another opener, which may be verifying a large file, in nanoseconds.
  private static let waitLimit: Int64 = 60_000_000_000

  /// - Throws: `.notAGarage`, `.linkedFile`, `.damagedStore`, `.unsupportedVersion`, `.storageFailed`. Nothing was
  ///   changed then, except for creating the directory.
  init(_ path: String) throws(GarageError) {
    let directory = try Self.calling(path) { () throws(SystemError) in try Directory(path: path, creating: true) }
    let lock = try Self.calling(directory.path) { () throws(SystemError) in try FileLock(directory) }
    try Self.wait(lock, directory)
    markLock = try Self.check(directory)
    self.directory = directory
    self.lock = lock
  }

  /// Returns the lock of the mark's file, and lets the next opener proceed.
  consuming func finish() -> FileLock { markLock }

  private static func wait(_ lock: borrowing FileLock, _ directory: Directory) throws(GarageError) {
    let isLocked = try calling(directory.path) { () throws(SystemError) in
      try lock.lock(.exclusive, within: waitLimit)
    }
    if isLocked { return }
    let holder = try calling(directory.path) { () throws(SystemError) in try lock.exclusiveHolder() }
    throw GarageError(
      .storageFailed,
      "Another process is opening the garage in \(directory.path), and does not come to an end"
        + (holder.map { ": \($0)." } ?? ". Look for a suspended one (state T), and continue it or end it."))
  }

  static func calling<R: ~Copyable>(
    _ directory: String, _ body: () throws(SystemError) -> R
  ) throws(GarageError) -> R {
    do throws(SystemError) { return try body() } catch { throw .openingFailed(directory, error) }
  }

  // MARK: - The directory

  private static func check(_ directory: Directory) throws(GarageError) -> FileLock {
    let path = directory.path
    let names = Set(try calling(path) { () throws(SystemError) in try directory.names() })
    for name in ownNames.intersection(names).sorted() {
      _ = try calling(path) { () throws(SystemError) in try directory.statusOfOwnFile(name) }
    }
    guard names.contains(StateMark.name) else {
      try checkUnmarked(directory, names)
      return try newMark(directory)
    }
    guard let lock = try calling(path, { () throws(SystemError) in try existingMark(directory) }) else {
      return try check(directory)
    }
    try join(lock, directory)
    return lock
  }

  /// Shares the mark's lock with other users of the garage; without any, checks the data file.
  private static func join(_ lock: borrowing FileLock, _ directory: Directory) throws(GarageError) {
    let path = directory.path
    let mark = try mark(in: lock.file, path)
    if try calling(path, { () throws(SystemError) in try lock.tryLock(.exclusive) }) {
      try checkAlone(directory, mark)
      return try share(lock, path)
    }
    try share(lock, path)
    // Its user has verified it.
    try DataFileCheck(directory: path, isMarked: true).checkBesideWriters()
  }

  private static func existingMark(_ directory: Directory) throws(SystemError) -> FileLock? {
    guard let file = try directory.open(StateMark.name, .writing, requiresOneName: true) else { return nil }
    return FileLock(file)
  }

  private static func mark(in file: borrowing File, _ directory: String) throws(GarageError) -> StateMark {
    switch try calling(directory, { () throws(SystemError) in try StateMark.read(file) }) {
    case .mark(let mark): return mark
    case .void: return StateMark(isMade: false, state: nil)
    case .newerVersion: throw .unsupportedVersion(directory)
    case .foreign:
      throw .notAGarage(directory, "its file \(StateMark.name) is not one of a garage")
    }
  }

  private static func newMark(_ directory: Directory) throws(GarageError) -> FileLock {
    guard let lock = try calling(directory.path, { () throws(SystemError) in try makeMark(directory) }) else {
      return try check(directory)
    }
    try share(lock, directory.path)
    return lock
  }

  /// Returns `nil` if another process created it first; it is then treated as existing.
  private static func makeMark(_ directory: Directory) throws(SystemError) -> FileLock? {
    do throws(SystemError) {
      let file = try directory.create(StateMark.name, .exclusively)
      try StateMark(isMade: false, state: nil).write(to: file)
      return FileLock(file)
    } catch {
      guard error.errno == EEXIST else { throw error }
      return nil
    }
  }

  private static func share(_ lock: borrowing FileLock, _ directory: String) throws(GarageError) {
    // Exclusive locks are brief: they require the lock held here.
    guard try calling(directory, { () throws(SystemError) in try lock.lock(.shared, within: waitLimit) }) else {
      throw GarageError(
        .storageFailed, "Something holds a lock of \(directory)/\(StateMark.name). End it, and open the garage again.")
    }
  }

  // MARK: - The data file

  /// Checks a directory without a mark: a new one, or a garage that lost it.
  private static func checkUnmarked(_ directory: Directory, _ names: Set<String>) throws(GarageError) {
    let path = directory.path
    let others = names.subtracting(ownNames).subtracting(ignoredNames)
    let contents: DataFileCheck.Contents
    do throws(GarageError) {
      contents = try DataFileCheck(directory: path, isMarked: false).contents()
    } catch {
      guard !others.isDisjoint(with: cacheNames) else { throw error }
      throw .notAGarage(path, "it holds a cache", underlying: error)
    }
    switch contents {
    // Other files do not matter: a cache that refused the garage may have left its lock.
    case .garage: return
    case .nothing:
      if !others.isDisjoint(with: cacheNames) { throw .notAGarage(path, "it holds a cache") }
      if let other = others.sorted().first { throw .notAGarage(path, "it is not empty, but has \"\(other)\"") }
      // Names that are not UTF-8 are not listed.
      let isEmpty = try calling(path) { () throws(SystemError) in try directory.isEmpty() }
      if names.isEmpty && !isEmpty { throw .notAGarage(path, "it is not empty") }
    }
  }

  private static func checkAlone(_ directory: Directory, _ mark: StateMark) throws(GarageError) {
    let path = directory.path
    let state = try calling(path) { () throws(SystemError) in try DataFileState(in: directory) }
    if mark.isMade, let sound = mark.state, sound == state { return }
    switch try DataFileCheck(directory: path, isMarked: true).contents() {
    case .garage: return
    case .nothing:
      guard mark.isMade else { return }
      throw GarageError(
        .damagedStore,
        """
        \(path)/\(dataFile) is missing or empty, and a garage was there. Put the file back from a backup, or remove \
        the directory to begin anew. Nothing was changed.
        """)
    }
  }
}
