import LMDB
import Platform

/// Checks a garage's directory before its files are mapped, and excludes other openers. LMDB trusts its map: a damaged
/// file ends the process, so one without a valid ``GarageMark`` is verified by `pread` first. An untrusted file is left
/// unchanged.
struct GarageOpening: ~Copyable {
  let directory: Directory
  /// Excludes other openers until the garage is open.
  private let lock: FileLock
  /// A shared lock of the mark's file, held while the garage is open.
  private let markLock: FileLock

  private static let ownNames: Set = ["data.mdb", "lock.mdb", GarageMark.name]
  /// Files of a cache of this package, in addition to its database.
  private static let cacheNames: Set = ["processes.lock", "clean-exit", "journals"]
  /// Files that systems add anywhere.
  private static let ignoredNames: Set = [".DS_Store"]

  /// How long to wait for another opener, which may be verifying a large file, in nanoseconds.
  private static let waitLimit: Int64 = 60_000_000_000

  /// - Throws: `.notAGarage`, `.linkedFile`, `.damagedStore`, `.unsupportedVersion`, `.storageFailed`. Nothing was
  ///   changed then, except for creating the directory.
  init(_ path: String) throws {
    do {
      let directory = try Directory(path: path, creating: true)
      let lock = try FileLock(directory)
      guard try lock.lock(.exclusive, within: Self.waitLimit) else {
        throw GarageError.busy(directory.path, try lock.exclusiveHolder())
      }
      markLock = try Self.check(directory)
      self.directory = directory
      self.lock = lock
    } catch let error as SystemError {
      throw GarageError.openingFailed(path, error)
    }
  }

  /// Returns the lock of the mark's file, and lets the next opener proceed.
  consuming func finish() -> FileLock { markLock }

  private static func check(_ directory: Directory) throws -> FileLock {
    let names = Set(try directory.names())
    for name in ownNames.intersection(names).sorted() { _ = try directory.statusOfOwnFile(name) }
    guard let file = try directory.open(GarageMark.name, .writing, requiresOneName: true) else {
      try checkUnmarked(directory, names)
      let lock = FileLock(try directory.create(GarageMark.name, .exclusively))
      try GarageMark(isMade: false, state: nil).write(to: lock.file)
      try share(lock, directory)
      return lock
    }
    let lock = FileLock(file)
    let mark = try GarageMark(lock.file, directory.path)
    // Without other users of the garage.
    if try lock.tryLock(.exclusive) {
      try checkAlone(directory, mark)
      try share(lock, directory)
    } else {
      try share(lock, directory)
      try verifying(directory.path) { try DataFileVerifier.verifyBesideWriters(directory: directory.path) }
    }
    return lock
  }

  private static func share(_ lock: borrowing FileLock, _ directory: Directory) throws {
    // Exclusive locks are brief: they require the lock held here.
    guard try lock.lock(.shared, within: waitLimit) else {
      throw GarageError.busy(directory.path, try lock.exclusiveHolder())
    }
  }

  // MARK: - The data file

  /// Checks a directory without a mark: a new one, or a garage that lost it.
  private static func checkUnmarked(_ directory: Directory, _ names: Set<String>) throws {
    let path = directory.path
    let others = names.subtracting(ownNames).subtracting(ignoredNames)
    let hasCache = !others.isDisjoint(with: cacheNames)
    do {
      // Other files do not matter: a cache that refused the garage may have left its lock.
      if try holdsGarage(path, isMarked: false) { return }
    } catch let error as GarageError where hasCache {
      throw GarageError.notAGarage(path, "it holds a cache", underlying: error)
    }
    if hasCache { throw GarageError.notAGarage(path, "it holds a cache") }
    if let other = others.sorted().first { throw GarageError.notAGarage(path, "it is not empty, but has \"\(other)\"") }
    // Names that are not UTF-8 are not listed.
    if names.isEmpty, try !directory.isEmpty() { throw GarageError.notAGarage(path, "it is not empty") }
  }

  private static func checkAlone(_ directory: Directory, _ mark: GarageMark) throws {
    if mark.isMade, let sound = mark.state, try sound == DataFileState(in: directory) { return }
    guard try !holdsGarage(directory.path, isMarked: true), mark.isMade else { return }
    throw GarageError(
      .damagedStore,
      """
      \(directory.path)/data.mdb is missing or empty, and a garage was there. Put the file back from a backup, or remove \
      the directory to begin anew. Nothing was changed.
      """)
  }

  /// Reads everything that LMDB would follow.
  ///
  /// - Returns: `false` without a file, or if it never stored anything.
  /// - Throws: `.damagedStore`; `.notAGarage` for another kind of sound file; `.unsupportedVersion`.
  private static func holdsGarage(_ directory: String, isMarked: Bool) throws -> Bool {
    var record = GarageRecord()
    let file = try verifying(directory, isMarked: isMarked) {
      try DataFileVerifier.betweenCommits(directory) { () throws(DataFileError) in
        record = GarageRecord()
        return try unsafe DataFileVerifier.verify(directory: directory) {
          unsafe record.note(Array($0), Array($1.beginning.prefix(16)))
        }
      }
    }
    guard let file, file.entries > 0 else { return false }
    try record.requireGarage(directory)
    return true
  }

  private static func verifying<R>(_ directory: String, isMarked: Bool = true, _ verify: () throws -> R) throws -> R {
    do {
      return try verify()
    } catch DataFileError.unreadable(let error) {
      throw GarageError.storageFailed(error)
    } catch DataFileError.finding(let finding) {
      if !isMarked, [.notDatabase, .version, .unsupported].contains(finding.kind) {
        throw GarageError.notAGarage(directory, "its data.mdb is not a garage's: \(finding)", underlying: finding)
      }
      throw GarageError(
        .damagedStore,
        """
        \(directory)/data.mdb is damaged: \(finding). Put the file back from a backup, or move the directory away to begin \
        anew; mdb_copy and mdb_dump may save what can be read of it. Nothing was changed.
        """, underlying: finding)
    }
  }
}

/// A file that records a state in which the garage's data file was sound. Written after a verification, after each
/// commit, and on close. Users of the garage hold a shared lock of it.
///
/// A ``DataFileMark`` with the magic "LMDBGSM1" and two bytes: 1 if the data file must exist, and 0.
struct GarageMark: Equatable {
  static let name = "garage-state"
  private static let magic = Array("LMDBGSM1".utf8)

  /// Whether the garage's own record has been committed.
  var isMade: Bool
  /// `nil` if no state is known to be sound.
  var state: DataFileState?

  func write(to file: borrowing File) throws(SystemError) {
    try DataFileMark(flags: [isMade ? 1 : 0, 0], state: state).write(to: file, magic: Self.magic)
  }
}

extension GarageMark {
  /// Reads the mark.
  init(_ file: borrowing File, _ directory: String) throws {
    switch try DataFileMark.read(file, magic: Self.magic) {
    case .mark(let mark): self.init(isMade: mark.flags[0] == 1, state: mark.state)
    case .empty: self.init(isMade: false, state: nil)
    // It belongs to an existing garage: a new one has almost nothing to tear.
    case .torn: self.init(isMade: true, state: nil)
    case .newerVersion: throw GarageError.unsupportedVersion(directory)
    case .foreign: throw GarageError.notAGarage(directory, "its file \(Self.name) is not one of a garage")
    }
  }
}

/// The record in the main database that marks an environment as a garage's. A cache of this package has the key `FF
/// 'm'` instead, and refuses a garage.
///
///     key     FF 67 ("g")
///     value   offset  bytes
///                  0      8  "LMDBGSR1"
///                  8      4  version of the format, little-endian
///                 12      4  0
struct GarageRecord {
  static let key: [UInt8] = [0xff, UInt8(ascii: "g")]
  private static let cacheKey: [UInt8] = [0xff, UInt8(ascii: "m")]
  private static let magic = Array("LMDBGSR1".utf8)
  private static let version: UInt8 = 1
  static let bytes = magic + [version, 0, 0, 0, 0, 0, 0, 0]

  private var value: [UInt8]?
  private var isCache = false

  /// Takes notice of an entry of the main database.
  mutating func note(_ key: [UInt8], _ value: [UInt8]) {
    if key == Self.key { self.value = Array(value.prefix(16)) }
    if key == Self.cacheKey { isCache = true }
  }

  /// Throws unless an environment with entries is a garage's.
  func requireGarage(_ directory: String) throws {
    if value == Self.bytes { return }
    if let value, value.count == 16, value.starts(with: Self.magic),
      value[8] > Self.version || value[9..<12].contains(where: { $0 > 0 })
    {
      throw GarageError.unsupportedVersion(directory)
    }
    throw GarageError.notAGarage(directory, isCache ? "it holds a cache" : "its data.mdb is another program's database")
  }
}

extension GarageError {
  fileprivate static func busy(_ directory: String, _ holder: LockHolder?) -> GarageError {
    GarageError(
      .storageFailed,
      "Another process is opening the garage in \(directory), and does not come to an end"
        + (holder.map { ": \($0)." } ?? ". Look for a suspended one (state T), and continue it or end it."))
  }

  static func openingFailed(_ directory: String, _ error: SystemError) -> GarageError {
    let (code, reason): (Code, String) =
      switch (error.finding, error.errno) {
      case (.kind?, _), (.names?, _): (.linkedFile, "\(error)")
      case (_, ENOTDIR), (_, EEXIST):
        (.invalidStore, "it is not a directory. Give the URL of a directory, or of one that can be made.")
      case (_, EACCES), (_, EPERM): (.storageFailed, "no permission. Give this user read and write access.")
      default: (.storageFailed, "\(SystemError.text(of: error.errno)). Correct that, and open it again.")
      }
    return GarageError(
      code, "The garage in \(directory) cannot be opened: \(reason) Nothing was changed.", underlying: error)
  }

  fileprivate static func notAGarage(
    _ directory: String, _ reason: String, underlying: (any Error)? = nil
  ) -> GarageError {
    GarageError(
      .notAGarage,
      "\(directory) cannot be a garage: \(reason). Give another directory, or an empty one; nothing was changed.",
      underlying: underlying)
  }

  fileprivate static func unsupportedVersion(_ directory: String) -> GarageError {
    GarageError(
      .unsupportedVersion,
      "The garage in \(directory) was written by a newer version of this package. Update, or give another directory; "
        + "nothing was changed.")
  }
}
