import LMDB

/// What happens to a garage's directory before its files are mapped: nobody else opens it meanwhile, it is a garage's or
/// empty, and its data file is sound.
///
/// LMDB believes what it maps: a file that was cut off ends the process with SIGBUS, a damaged page with `abort()`. So a
/// file of which no ``StateMark`` says that it is sound is read by `pread` first. What cannot be trusted is an error,
/// and is left as it is: objects are nobody's to throw away.
struct GarageOpening: ~Copyable {
  /// Canonical.
  let directory: String
  /// Holds the others off until the garage is open.
  private let lock: OwnFile
  /// Shared with whoever has the garage open.
  private let markFile: OwnFile

  private static let dataFile = "data.mdb"
  private static let lockFile = "lock.mdb"
  /// What a garage consists of.
  private static let ownNames: Set = [dataFile, lockFile, StateMark.name]
  /// What a cache of this package has beside its database.
  private static let cacheNames: Set = ["processes.lock", "clean-exit", "journals"]
  /// What systems put everywhere.
  private static let ignoredNames: Set = [".DS_Store"]

  /// Seconds that another opening is waited for, which may be verifying a large file.
  private static let patience = 60

  static func dataFile(in directory: String) -> String { directory + "/" + dataFile }

  /// - Throws: `.notAGarage`, `.linkedFile`, `.damagedStore`, `.unsupportedVersion`, `.storageFailed`. Nothing was changed
  ///   then, but that the directory was made.
  init(_ path: String) throws(GarageError) {
    let directory = try Self.make(path)
    let lock = try Self.calling(directory) { () throws(SystemFailure) in try OwnFile.open(directory: directory) }
    try Self.wait(lock, directory)
    let markFile = try Self.check(directory)
    self.directory = directory
    self.lock = lock
    self.markFile = markFile
  }

  private static func make(_ path: String) throws(GarageError) -> String {
    try calling(path) { () throws(SystemFailure) in
      try StoreDirectory.make(path)
      return try StoreDirectory.canonicalPath(path)
    }
  }

  /// Hands out the file of the mark. The next one can open the garage from then on.
  consuming func finish() -> OwnFile { markFile }

  private static func wait(_ lock: borrowing OwnFile, _ directory: String) throws(GarageError) {
    let isLocked = try calling(directory) { () throws(SystemFailure) in
      try StoreDirectory.wait(seconds: patience) { () throws(SystemFailure) in try lock.tryLock() }
    }
    if isLocked { return }
    let identity = try calling(directory) { () throws(SystemFailure) in try lock.identity() }
    let holder = LockHolder.exclusive(device: identity.device, inode: identity.inode)
    throw GarageError(
      .storageFailed,
      "Another process is opening the garage in \(directory), and does not come to an end"
        + (holder.map { ": \($0)." } ?? ". Look for a suspended one (state T), and continue it or end it."))
  }

  static func calling<R: ~Copyable>(
    _ directory: String, _ body: () throws(SystemFailure) -> R
  ) throws(GarageError) -> R {
    do throws(SystemFailure) { return try body() } catch { throw .openingFailed(directory, error) }
  }

  // MARK: - The directory

  private static func check(_ directory: String) throws(GarageError) -> OwnFile {
    let names = try calling(directory) { () throws(SystemFailure) in try StoreDirectory.names(in: directory) }
    for name in ownNames.intersection(names).sorted() {
      try calling(directory) { () throws(SystemFailure) in try StoreDirectory.checkIsRegular(directory + "/" + name) }
    }
    let markPath = directory + "/" + StateMark.name
    guard names.contains(StateMark.name) else {
      try checkUnmarked(directory, names)
      return try newMark(markPath, directory)
    }
    let file = try calling(directory) { () throws(SystemFailure) in try OwnFile.open(markPath, forWriting: true) }
    guard let file else { return try check(directory) }
    let mark = try mark(in: file, directory)
    guard try calling(directory, { () throws(SystemFailure) in try file.tryLock() }) else {
      // Whoever has it open has verified it.
      try share(file, directory)
      try DataFileCheck(directory: directory, isMarked: true).checkBesideWriters()
      return file
    }
    try checkAlone(directory, mark)
    try share(file, directory)
    return file
  }

  private static func mark(in file: borrowing OwnFile, _ directory: String) throws(GarageError) -> StateMark {
    switch try calling(directory, { () throws(SystemFailure) in try StateMark.read(file) }) {
    case .mark(let mark): return mark
    case .void: return StateMark(isMade: false, state: nil)
    case .newerVersion: throw .unsupportedVersion(directory)
    case .foreign:
      throw .notAGarage(directory, "its file \(StateMark.name) is not one of a garage")
    }
  }

  private static func newMark(_ path: String, _ directory: String) throws(GarageError) -> OwnFile {
    let file = try calling(directory) { () throws(SystemFailure) in try OwnFile.make(path) }
    // Somebody was faster: it is looked at as what was there.
    guard let file else { return try check(directory) }
    try calling(directory) { () throws(SystemFailure) in try StateMark(isMade: false, state: nil).write(to: file) }
    try share(file, directory)
    return file
  }

  private static func share(_ file: borrowing OwnFile, _ directory: String) throws(GarageError) {
    // Nobody has it alone for long: that takes the lock that is held here.
    let isShared = try calling(directory) { () throws(SystemFailure) in
      try StoreDirectory.wait(seconds: patience) { () throws(SystemFailure) in try file.tryShare() }
    }
    guard isShared else {
      throw GarageError(
        .storageFailed, "Something holds a lock of \(directory)/\(StateMark.name). End it, and open the garage again.")
    }
  }

  // MARK: - The data file

  /// A directory without a mark: a new one, or a garage that lost it.
  private static func checkUnmarked(_ directory: String, _ names: Set<String>) throws(GarageError) {
    let others = names.subtracting(ownNames).subtracting(ignoredNames)
    let contents: DataFileCheck.Contents
    do throws(GarageError) {
      contents = try DataFileCheck(directory: directory, isMarked: false).contents()
    } catch {
      guard !others.isDisjoint(with: cacheNames) else { throw error }
      throw .notAGarage(directory, "it holds a cache", underlying: error)
    }
    switch contents {
    // What else is there does not count: a cache that refused the garage may have left its lock.
    case .garage: return
    case .nothing:
      if !others.isDisjoint(with: cacheNames) { throw .notAGarage(directory, "it holds a cache") }
      guard let other = others.sorted().first else { return }
      throw .notAGarage(directory, "it is not empty, but has \"\(other)\"")
    }
  }

  private static func checkAlone(_ directory: String, _ mark: StateMark) throws(GarageError) {
    let state = try calling(directory) { () throws(SystemFailure) in
      try DataFileState(of: dataFile(in: directory))
    }
    if mark.isMade, let sound = mark.state, sound == state { return }
    switch try DataFileCheck(directory: directory, isMarked: true).contents() {
    case .garage: return
    case .nothing:
      guard mark.isMade else { return }
      throw GarageError(
        .damagedStore,
        """
        \(directory)/\(dataFile) is missing or empty, and a garage was there. Put the file back from a backup, or remove \
        the directory to begin anew. Nothing was changed.
        """)
    }
  }
}

extension GarageError {
  static func notAGarage(_ directory: String, _ reason: String, underlying: (any Error)? = nil) -> GarageError {
    GarageError(
      .notAGarage,
      "\(directory) cannot be a garage: \(reason). Give another directory, or an empty one; nothing was changed.",
      underlying: underlying)
  }

  static func unsupportedVersion(_ directory: String) -> GarageError {
    GarageError(
      .unsupportedVersion,
      "The garage in \(directory) was written by a newer version of this package. Update, or give another directory; "
        + "nothing was changed.")
  }
}
