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

/// Verifies a garage's data file before it is mapped.
struct DataFileCheck {
  enum Contents {
    /// No file, or one that never stored anything.
    case nothing
    case garage
  }

  let directory: String
  /// Whether a ``StateMark`` says that it is a garage's.
  let isMarked: Bool

  /// Reads everything that LMDB would follow.
  ///
  /// - Throws: `.damagedStore`; `.notAGarage` for another kind of sound file; `.unsupportedVersion`.
  func contents() throws(GarageError) -> Contents {
    var record: GarageRecord.Reading?
    var isCache = false
    let verified = try settled { () throws(DataFileError) in
      record = nil
      isCache = false
      return try DataFileVerifier.verify(directory: directory) { key, value in
        if key.elementsEqual(GarageRecord.key) { record = GarageRecord.read(value.beginning) }
        if key.elementsEqual(GarageRecord.cacheKey) { isCache = true }
      }
    }
    guard let verified, verified.entries > 0 else { return .nothing }
    return try Self.check(record, isCache: isCache, directory)
  }

  /// Checks the record of a sound file with entries.
  static func check(
    _ record: GarageRecord.Reading?, isCache: Bool, _ directory: String
  ) throws(GarageError) -> Contents {
    switch record {
    case .current: return .garage
    case .newerVersion: throw .unsupportedVersion(directory)
    case .foreign, nil:
      throw .notAGarage(directory, isCache ? "it holds a cache" : "its data.mdb is another program's database")
    }
  }

  /// Checks a verified file that others may be writing: no page in use may be past its end.
  func checkBesideWriters() throws(GarageError) {
    _ = try settled { () throws(DataFileError) in
      // Missing pages are fine if they are free, which only a full read decides.
      guard let meta = try DataFileVerifier.checkMetaBesideWriters(directory: directory), !meta.isWhole else {
        return nil
      }
      return try DataFileVerifier.verify(directory: directory)
    }
  }

  /// Returns the result of `look` between commits.
  private func settled(
    _ look: () throws(DataFileError) -> VerifiedDataFile?
  ) throws(GarageError) -> VerifiedDataFile? {
    do throws(DataFileError) {
      for _ in 0..<8 {
        let before = try DataFileVerifier.checkMetaBesideWriters(directory: directory)
        let result: Result<VerifiedDataFile?, DataFileError>
        do throws(DataFileError) { result = .success(try look()) } catch { result = .failure(error) }
        let after = try DataFileVerifier.checkMetaBesideWriters(directory: directory)
        if before?.transactionID == after?.transactionID { return try result.get() }
      }
      // A file that is written constantly is readable.
      return nil
    } catch {
      throw failure(error)
    }
  }

  private func failure(_ error: DataFileError) -> GarageError {
    switch error {
    case .unreadable(let error): return .storageFailed(error)
    case .finding(let finding):
      if !isMarked, [.notDatabase, .version, .unsupported].contains(finding.kind) {
        return .notAGarage(directory, "its data.mdb is not a garage's: \(finding)", underlying: finding)
      }
      return GarageError(
        .damagedStore,
        """
        \(directory)/data.mdb is damaged: \(finding). Put the file back from a backup, or move the directory away to begin \
        anew; mdb_copy and mdb_dump may save what can be read of it. Nothing was changed.
        """, underlying: finding)
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
enum GarageRecord {
  static let key: [UInt8] = [0xff, UInt8(ascii: "g")]
  /// The key of a cache of this package.
  static let cacheKey: [UInt8] = [0xff, UInt8(ascii: "m")]
  static let version: UInt32 = 1
  private static let magic = Array("LMDBGSR1".utf8)

  enum Reading: Equatable {
    case current
    case newerVersion(UInt32)
    case foreign
  }

  static func read(_ bytes: UnsafeRawBufferPointer) -> Reading {
    guard bytes.count >= 16, bytes.starts(with: magic) else { return .foreign }
    let version = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    return version == Self.version ? .current : version > Self.version ? .newerVersion(version) : .foreign
  }

  static var bytes: [UInt8] {
    magic + (0..<4).map { UInt8(truncatingIfNeeded: version >> (8 * $0)) } + [0, 0, 0, 0]
  }
}

/// A file that records a state in which the garage's data file was sound. Written after a verification, after each
/// commit, and on close.
///
/// A commit, a copy or a replaced file invalidates it, so it stays in place while the garage is open, and never claims
/// too much. Users of the garage hold a shared lock of it.
///
///     offset  bytes, numbers little-endian
///          0      8  "LMDBGSM1"
///          8      4  version of this layout
///         12      4  1 if the data file must exist; 0 while the garage is being created
///         16     48  the state of the data file; zeros: no state is known to be sound
///         64      8  the first bytes of SHA-256 of the preceding bytes
struct StateMark: Equatable {
  static let name = "garage-state"
  private static let magic = Array("LMDBGSM1".utf8)
  private static let version: UInt32 = 1
  private static let size = 72
  private static let stateOffset = 16
  private static let digestOffset = 64

  /// Whether the garage's own record has been committed.
  var isMade: Bool
  var state: DataFileState?

  enum Reading: Equatable {
    case mark(StateMark)
    case void
    case newerVersion
    /// Another program's file.
    case foreign
  }

  static func read(_ file: borrowing File) throws(SystemError) -> Reading {
    let length = try file.status().size
    guard length > 0 else { return .void }
    var bytes = [UInt8](repeating: 0, count: size)
    guard try file.read(&bytes) else { return .foreign }
    guard bytes.starts(with: magic) else {
      // A power cut leaves zeros in a new file.
      return length == size && bytes.allSatisfy { $0 == 0 } ? .void : .foreign
    }
    if UInt32(number(bytes[8..<12])) > version { return .newerVersion }
    guard number(bytes[digestOffset...]) == ContentDigest.word(of: Array(bytes[..<digestOffset])) else {
      // A torn mark belongs to an existing garage: a new one has almost nothing to tear.
      return .mark(StateMark(isMade: true, state: nil))
    }
    let words = (0..<DataFileState.count).map { number(bytes[stateOffset + 8 * $0..<stateOffset + 8 * $0 + 8]) }
    return .mark(
      StateMark(
        isMade: number(bytes[12..<16]) == 1,
        state: words.allSatisfy { $0 == 0 } ? nil : DataFileState(words: words)))
  }

  /// Writes the mark in place with one call. Two simultaneous writers leave one of the marks, or a void one.
  func write(to file: borrowing File) throws(SystemError) {
    var bytes = Self.magic + Self.bytes(UInt64(Self.version), 4) + Self.bytes(isMade ? 1 : 0, 4)
    for word in state?.words ?? [UInt64](repeating: 0, count: DataFileState.count) { bytes += Self.bytes(word, 8) }
    bytes += Self.bytes(ContentDigest.word(of: bytes), 8)
    try file.write(bytes, at: 0)
  }

  private static func bytes(_ number: UInt64, _ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// Identifies a garage's data file and its state, to detect writes.
struct DataFileState: Equatable {
  static let count = 6
  private static let metaLength = 256

  /// Device, inode, size, modification and change times in nanoseconds, and a digest of both meta pages, which hold the
  /// last transaction's number.
  let words: [UInt64]

  init(words: [UInt64]) { self.words = words }

  /// Returns `nil` if the file is missing or too short for a database.
  init?(in directory: Directory) throws(SystemError) {
    guard let file = try DataFileSnapshot(of: directory, metaLength: Self.metaLength) else { return nil }
    let (status, meta) = (file.status, file.metaPages)
    words = [
      status.identity.device, status.identity.inode, UInt64(status.size),
      // Both times, because the first can be set freely.
      UInt64(bitPattern: status.modified), UInt64(bitPattern: status.changed),
      ContentDigest.word(of: meta.first + meta.second),
    ]
  }
}

extension GarageError {
  static func openingFailed(_ directory: String, _ error: SystemError) -> GarageError {
    switch error.finding {
    case .kind(.symbolicLink):
      return GarageError(
        .linkedFile,
        """
        \(error.path) is a symbolic link. A garage does not follow links in the place of its files: put the file \
        itself there, or give the directory that it leads to. Nothing was changed.
        """, underlying: error)
    case .kind:
      return GarageError(
        .linkedFile, "\(error.path) is not a file. Move it away, and open the garage again. Nothing was changed.",
        underlying: error)
    case .names:
      return GarageError(
        .linkedFile,
        "\(error.path) has other names (hard links), and so belongs to somebody else, too. Copy it to a directory of its "
          + "own. Nothing was changed.", underlying: error)
    case .name, .tooLarge, nil: break
    }
    switch error.errno {
    case ENOTDIR, EEXIST:
      return GarageError(
        .invalidStore, "\(directory) is not a directory. Give the URL of a directory, or of one that can be made.",
        underlying: error)
    case EACCES, EPERM:
      return GarageError(
        .storageFailed,
        "The garage in \(directory) cannot be opened: no permission. Give this user read and write access.",
        underlying: error)
    default:
      return GarageError(
        .storageFailed,
        "The garage in \(directory) cannot be opened: \(String(cString: strerror(error.errno))). Correct that, and open "
          + "it again.", underlying: error)
    }
  }

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
