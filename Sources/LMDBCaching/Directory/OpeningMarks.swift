import LMDB
import Logging
import Platform
import Synchronization

/// The file that records that the database is sound, and until when. It is written after a clean exit, after
/// verification, before the first of many commits, and when writes pause.
///
/// A process crash leaves LMDB's file at its last commit: pages in use are never overwritten, and the system cache
/// holds the rest. Only a system crash or a failing disk loses data. So a file written only during one boot need not be
/// verified again (``Scope/use``).
///
/// A ``DataFileMark`` with the magic "LMDBCCE1" and two bytes: durability and scope (0 run, 1 disk, 2 use).
struct CleanExitMark {
  static let name = "clean-exit"
  private static let magic = Array("LMDBCCE1".utf8)

  enum Scope: UInt8 {
    /// This state of the file, until the next boot.
    case run = 0
    /// This state of the file, which was synchronized.
    case disk = 1
    /// The file, until the next boot, whatever caches commit to it.
    case use = 2
  }

  let durability: Durability
  let scope: Scope
  private let mark: DataFileMark

  enum Reading {
    case none
    case mark(CleanExitMark)
    case newerVersion
    /// Truncated or changed.
    case void
  }

  private init?(_ mark: DataFileMark) {
    guard let durability = Durability(rawValue: mark.flags[0]), let scope = Scope(rawValue: mark.flags[1]) else {
      return nil
    }
    (self.durability, self.scope, self.mark) = (durability, scope, mark)
  }

  static func isOurs(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magic) }

  static func read(in directory: Directory) throws(SystemError) -> Reading {
    guard let file = try directory.open(name) else { return .none }
    switch try DataFileMark.read(file, magic: magic) {
    case .mark(let mark): return CleanExitMark(mark).map(Reading.mark) ?? .void
    case .newerVersion: return .newerVersion
    case .empty, .torn, .foreign: return .void
    }
  }

  private static func write(
    _ durability: Durability, _ scope: Scope, _ state: DataFileState?, to file: borrowing File
  ) throws(SystemError) {
    try DataFileMark(flags: [durability.rawValue, scope.rawValue], state: state).write(to: file, magic: magic)
  }

  private var isVoid: Bool { mark.state == nil }

  /// Whether damage or a disk failure was found and the database has not been verified since.
  static func isVoid(in directory: Directory) throws(SystemError) -> Bool {
    if case .mark(let mark) = try read(in: directory) { mark.isVoid } else { false }
  }

  /// Whether the mark describes the file as it is now.
  func holds(in directory: Directory) throws(SystemError) -> Bool {
    guard scope == .disk || mark.boot.isKnownToBe(.current), let state = mark.state,
      let found = try DataFileState(in: directory)
    else { return false }
    return scope == .use ? found.isSameFile(as: state) && found.size >= state.size : found == state
  }

  /// Marks the file in its present state.
  ///
  /// - Parameter wasVerified: Whether the only process has read all of it. If not, a void mark stays.
  /// - Returns: `false` if another process is changing the mark.
  @discardableResult
  static func write(
    in directory: Directory, durability: Durability, _ scope: Scope, wasVerified: Bool
  ) throws(SystemError) -> Bool {
    guard let state = try DataFileState(in: directory) else { return false }
    return try whileLocked(in: directory) { (file, isLocked) throws(SystemError) in
      guard isLocked else { return false }
      if !wasVerified, try isVoid(in: directory) { return false }
      try write(durability, scope, state, to: file)
      return true
    }
  }

  /// Nanoseconds to wait for another process, which writes only a few bytes.
  private static let longestWait: Int64 = 100_000_000

  /// Creates the file if it is missing, and calls `body` under its lock, or without the lock after ``longestWait``.
  private static func whileLocked<R>(
    in directory: Directory, _ body: (borrowing File, _ isLocked: Bool) throws(SystemError) -> R
  ) throws(SystemError) -> R {
    let lock = FileLock(try directory.create(name, requiresOneName: true))
    let isLocked = try lock.lock(.exclusive, within: longestWait)
    return try body(lock.file, isLocked)
  }

  /// Makes the next opening verify. The file stays, because it proves that this is a cache, of its durability.
  ///
  /// Proceeds even if another process holds the lock for too long.
  ///
  /// - Parameter durability: Used to create a mark if none exists; if `nil`, none is created.
  static func makeVoid(in directory: Directory, durability: Durability? = nil) throws(SystemError) {
    if durability == nil, case .none = try read(in: directory) { return }
    try whileLocked(in: directory) { (file, _) throws(SystemError) in
      let known: Durability?
      switch try read(in: directory) {
      case .newerVersion: return
      case .none, .void: known = durability
      case .mark(let mark): known = mark.durability
      }
      guard let known else { return }
      try write(known, .run, nil, to: file)
    }
  }
}

/// Maintains the ``CleanExitMark`` while a cache is open.
// Sendable: only the writer thread, or opening before it starts, changes state; `makeVoid` uses none of it.
final class CleanExitMarker: @unchecked Sendable {
  private let durability: Durability
  private let database: EntryDatabase
  private let place: PlaceKeeper
  private let events: EventLog
  /// The last transaction at the last check, and at the last mark. Writer thread only.
  private var lastPosition: UInt64
  private var markedPosition: UInt64
  /// Whether the mark has the scope `use`, as far as this process knows. Writer thread only.
  private var isMarkedInUse = false

  init(_ place: PlaceKeeper, _ database: EntryDatabase, durability: Durability, events: EventLog) {
    self.place = place
    self.database = database
    self.durability = durability
    self.events = events
    lastPosition = database.environment.lastPosition()
    markedPosition = lastPosition
  }

  /// Marks the file after opening, when it was either marked sound before or verified.
  static func markOpened(_ directory: Directory, _ durability: Durability, wasVerified: Bool) throws(CacheError) {
    try calling("Opening the cache in \(directory.path)") { () throws(SystemError) in
      if case .mark(let mark) = try CleanExitMark.read(in: directory), try mark.holds(in: directory) { return }
      try CleanExitMark.write(in: directory, durability: durability, .run, wasVerified: wasVerified)
    }
  }

  /// Makes the next opening verify the database. Any thread.
  func makeVoid() {
    do throws(SystemError) {
      try CleanExitMark.makeVoid(in: place.directory, durability: durability)
    } catch {
      events.log(.error, "cache mark not removed", ["directory": "\(database.directoryName)", "error": "\(error)"])
    }
  }

  /// Call before this process changes the file: the mark then covers every later commit.
  func willCommit() {
    if !isMarkedInUse { isMarkedInUse = mark(.use) }
  }

  func didReopen() { isMarkedInUse = false }

  /// Marks the state if no process has written since the last call. Writer thread, periodically.
  func makeRound() {
    let position = database.environment.lastPosition()
    defer { lastPosition = position }
    if position != lastPosition {
      // Another process may have seen the file idle since, and changed the scope.
      if isMarkedInUse { isMarkedInUse = mark(.use) }
    } else if isMarkedInUse || position != markedPosition {
      isMarkedInUse = false
      if mark(.run) { markedPosition = position }
    }
  }

  /// Returns whether the file is marked. If not, the next opening verifies. The next commit reports any disk error.
  private func mark(_ scope: CleanExitMark.Scope) -> Bool {
    if isOutOfService { return false }
    do throws(SystemError) {
      guard try CleanExitMark.write(in: place.directory, durability: durability, scope, wasVerified: false)
      else { return false }
    } catch {
      return false
    }
    // Another thread may have found damage since the first check.
    if isOutOfService { makeVoid() }
    return !isOutOfService
  }

  /// Call after the last commit of the last process. Without the mark, the next opening verifies.
  func markCleanExit() {
    if isOutOfService { return }
    do throws(CacheError) {
      guard try calling(activity, { () throws(SystemError) in try place.processLock.tryOwn() }) else { return }
      let directory = place.directory
      let isDone = try calling(activity) { () throws(SystemError) in
        guard case .mark(let mark) = try CleanExitMark.read(in: directory), mark.scope == .disk else { return false }
        return try mark.holds(in: directory)
      }
      if isDone { return }
      try database.synchronize()
      _ = try calling(activity) { () throws(SystemError) in
        try CleanExitMark.write(in: directory, durability: durability, .disk, wasVerified: false)
      }
    } catch {
      events.log(
        .warning, "cache not marked as closed", ["directory": "\(database.directoryName)", "error": "\(error)"])
    }
  }

  private var activity: String { "Marking the cache in \(database.directoryName)" }

  private var isOutOfService: Bool { database.isOutOfService.load(ordering: .acquiring) }
}

/// Marks a cache with ``Durability/fast`` as open, with the boot identifier of its opening.
///
///     offset  bytes
///          0      8  "LMDBCFS1"
///          8     16  boot identifier
///
/// Without a sync, LMDB's pages reach the disk in any order, so a system crash leaves nothing that can be trusted. The
/// last process to close the cache removes the mark, after a sync.
enum FastSession {
  static let name = "fast-session"
  static let newName = "fast-session.new"
  private static let magic = Array("LMDBCFS1".utf8)

  static func isOurs(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magic) }

  /// Requires the ``OpeningLock``.
  static func begin(_ directory: Directory) throws(SystemError) {
    let boot = BootIdentifier.current
    let bytes = magic + boot.high.littleEndian.bytes + boot.low.littleEndian.bytes
    // Write it completely before the rename: a partial mark, from a full disk, would discard the cache.
    do throws(SystemError) {
      let file = try directory.create(newName, .emptying, requiresOneName: true)
      try file.write(bytes, at: 0)
      try file.synchronize()
      try directory.rename(newName, to: name)
    } catch {
      if error.finding == nil { try directory.remove(newName) }
      throw error
    }
    try directory.synchronize()
  }

  static func end(_ directory: Directory) throws(SystemError) { try directory.remove(name) }

  // MARK: A session that the operating system's crash interrupted

  /// Whether a session was interrupted, so that the files cannot be trusted.
  ///
  /// A mark may also be left from the interrupted creation of a `.fast` cache, in a directory that now holds another
  /// cache. That cache's ``CleanExitMark`` then proves it.
  static func isInterrupted(in directory: Directory) throws(SystemError) -> Bool {
    // An unknown boot counts as another one.
    guard let boot = try boot(of: directory), !boot.isKnownToBe(.current) else { return false }
    guard case .mark(let mark) = try CleanExitMark.read(in: directory) else { return true }
    return mark.durability == .fast
  }

  /// Discards the files of an interrupted session, when opening with `.fast` and recovery enabled.
  ///
  /// - Throws: `.durabilityMismatch`, or `.damagedDatabase` with ``CacheConfiguration/Disk/recoversFromDamage`` off.
  ///   Nothing was changed then.
  static func discardInterrupted(
    _ cache: CacheDirectory, _ configuration: CacheConfiguration, _ processLock: ProcessLock, events: EventLog
  ) throws(CacheError) {
    let activity = "Opening the cache in \(cache.directory.path)"
    // Every process here either passes this point too, and one of them discards the files, or opened the cache in this
    // boot and has already passed it.
    for _ in 0..<100 {
      guard try calling(activity, { try isInterrupted(in: cache.directory) }) else { return }
      guard configuration.durability == .fast else { throw mismatch(cache.directory, configuration.durability) }
      guard configuration.disk.recoversFromDamage else { throw untrusted(cache.directory) }
      let isDone = try calling(activity) {
        if try processLock.tryOwn() {
          events.log(
            .warning, "cache discarded: the operating system stopped while it was open with durability .fast",
            ["directory": "\(cache.directory.path)"])
          try discard(cache.directory)
          try processLock.share()
          return true
        }
        // flock(2) drops the shared lock during a failed upgrade, so one of several processes becomes the only owner.
        MonotonicClock.sleep(nanoseconds: .random(in: 0..<2_000_000))
        try processLock.share()
        return false
      }
      if isDone { return }
    }
  }

  private static func mismatch(_ directory: Directory, _ asked: Durability) -> CacheError {
    CacheError(
      .durabilityMismatch,
      "\(directory.path) is a cache with durability .fast that was open when the operating system stopped, so that nothing "
        + "in it can be believed, and .\(asked) was asked for. Nothing was changed. Open it with .fast, which makes it anew, "
        + "or remove the directory to start with .\(asked).")
  }

  static func untrusted(_ directory: Directory) -> CacheError {
    CacheError(
      .damagedDatabase,
      "The operating system stopped while the cache in \(directory.path) was open with durability .fast: nothing in it can "
        + "be believed. Nothing was changed. A program that opens it with .fast and disk.recoversFromDamage, the default, "
        + "makes it anew.")
  }

  private static func discard(_ directory: Directory) throws(SystemError) {
    for name in [CacheDirectory.dataName, CacheDirectory.lockName] { try directory.remove(name) }
    try JournalFolder(cache: directory).removeAll()
    try ValueFolder(cache: directory).removeAll()
    // Remove the mark last: if a power cut removed it but not the database, the database would be trusted.
    try directory.synchronize()
    try end(directory)
  }

  /// The boot in the mark, or `nil` if there is no mark.
  private static func boot(of directory: Directory) throws(SystemError) -> BootIdentifier? {
    guard let file = try directory.open(name) else { return nil }
    var bytes = [UInt8](repeating: 0, count: magic.count + 16)
    // A truncated mark belongs to no known boot.
    guard try file.read(&bytes), isOurs(bytes) else { return .unknown }
    return bytes.withBytes { BootIdentifier(high: $0.load(8), low: $0.load(16)) }
  }
}
