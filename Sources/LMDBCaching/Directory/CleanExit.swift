import CXXHash
import LMDB
import Logging
import Platform
import Synchronization

/// The file that records that the database is sound, and until when. It is written after a clean exit, after
/// verification, before the first of many commits, and when writes pause.
///
/// It identifies the file it describes, so it proves nothing about another, and opening need not remove it.
///
/// A process crash leaves LMDB's file at its last commit: pages in use are never overwritten, and the system cache
/// holds the rest. Only a system crash or a failing disk loses data. So a file written only during one boot need not be
/// verified again (``Scope/use``).
///
///     offset  bytes
///          0      8  "LMDBCCE1"
///          8      4  version of this layout
///         12      1  durability of the cache
///         13      1  scope: 0 run, 1 disk, 2 use
///         14      2  0
///         16     16  boot identifier
///         32     56  state of the database file
///         88      8  XXH3 of the bytes before it
struct CleanExitMark {
  static let name = "clean-exit"
  private static let magic: UInt64 = 0x3145_4343_4244_4D4C
  private static let magicBytes = withUnsafeBytes(of: magic.littleEndian) { Array($0) }
  private static let version: UInt32 = 1
  private static let size = 96

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
  private let boot: BootIdentifier
  private let state: DataFileState

  enum Reading {
    case none
    case mark(CleanExitMark)
    case newerVersion
    /// Truncated or changed, or an explicit void mark.
    case void
  }

  static func isOurs(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magicBytes) }

  static func read(in directory: Directory) throws(SystemError) -> Reading {
    guard let file = try directory.open(name) else { return .none }
    var bytes = [UInt8](repeating: 0, count: size)
    guard try file.read(&bytes) else { return .void }
    return bytes.withUnsafeBytes { bytes -> Reading in
      func load<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: T.Type) -> T {
        T(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: T.self))
      }
      guard load(0, as: UInt64.self) == magic else { return .void }
      if load(8, as: UInt32.self) > version { return .newerVersion }
      guard load(88, as: UInt64.self) == cxxhash_64(bytes.baseAddress, 88, 0),
        let durability = Durability(rawValue: bytes[12]), let scope = Scope(rawValue: bytes[13])
      else { return .void }
      return .mark(
        CleanExitMark(
          durability: durability, scope: scope,
          boot: BootIdentifier(high: load(16, as: UInt64.self), low: load(24, as: UInt64.self)),
          state: DataFileState(UnsafeRawBufferPointer(rebasing: bytes[32..<88]))))
    }
  }

  private var isVoid: Bool { state.inode == 0 }

  /// Whether damage or a disk failure was found and the database has not been verified since.
  static func isVoid(in directory: Directory) throws(SystemError) -> Bool {
    if case .mark(let mark) = try read(in: directory) { mark.isVoid } else { false }
  }

  /// Whether the mark describes the file as it is now.
  func holds(in directory: Directory) throws(SystemError) -> Bool {
    guard scope == .disk || boot.isKnownToBe(.current) else { return false }
    guard !isVoid, let found = try DataFileState(directory: directory) else { return false }
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
    guard let state = try DataFileState(directory: directory) else { return false }
    let mark = CleanExitMark(durability: durability, scope: scope, boot: BootIdentifier.current, state: state)
    return try whileLocked(in: directory) { (file, isLocked) throws(SystemError) in
      guard isLocked else { return false }
      if !wasVerified, try isVoid(in: directory) { return false }
      try file.write(mark.bytes, at: 0)
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

  private var bytes: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.size)
    bytes.withUnsafeMutableBytes { bytes in
      bytes.storeBytes(of: Self.magic.littleEndian, as: UInt64.self)
      bytes.storeBytes(of: Self.version.littleEndian, toByteOffset: 8, as: UInt32.self)
      bytes[12] = durability.rawValue
      bytes[13] = scope.rawValue
      bytes.storeBytes(of: boot.high.littleEndian, toByteOffset: 16, as: UInt64.self)
      bytes.storeBytes(of: boot.low.littleEndian, toByteOffset: 24, as: UInt64.self)
      state.write(to: UnsafeMutableRawBufferPointer(rebasing: bytes[32..<88]))
      bytes.storeBytes(of: cxxhash_64(bytes.baseAddress!, 88, 0).littleEndian, toByteOffset: 88, as: UInt64.self)
    }
    return bytes
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
      // No file has inode 0.
      let state = [UInt8](repeating: 0, count: DataFileState.size).withUnsafeBytes { DataFileState($0) }
      let void = CleanExitMark(durability: known, scope: .run, boot: BootIdentifier.current, state: state)
      try file.write(void.bytes, at: 0)
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

/// Identifies a database file and its last write.
struct DataFileState: Equatable {
  private(set) var device: UInt64 = 0
  private(set) var inode: UInt64 = 0
  private(set) var size: UInt64 = 0
  private(set) var modified: [UInt64] = []
  /// Hashes the start of both meta pages, including the last transaction's number.
  private(set) var metaHash: UInt64 = 0

  static let size = 56
  private static let metaLength = 512

  /// Returns `nil` if there is no database file.
  init?(directory: Directory) throws(SystemError) {
    guard let file = try DataFileSnapshot(of: directory, metaLength: Self.metaLength) else { return nil }
    device = file.status.identity.device
    inode = file.status.identity.inode
    size = UInt64(file.status.size)
    // Both, because the modification time can be set to any value.
    modified = [file.status.modified, file.status.changed].map { UInt64(bitPattern: $0) }
    let first = file.metaPages.first.withUnsafeBytes { cxxhash_64($0.baseAddress, $0.count, 0) }
    metaHash = file.metaPages.second.withUnsafeBytes { cxxhash_64($0.baseAddress, $0.count, first) }
  }

  func isSameFile(as other: DataFileState) -> Bool { device == other.device && inode == other.inode }

  init(_ bytes: UnsafeRawBufferPointer) {
    func load(_ index: Int) -> UInt64 {
      UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
    }
    device = load(0)
    inode = load(1)
    size = load(2)
    modified = [load(3), load(4)]
    metaHash = load(5)
  }

  func write(to bytes: UnsafeMutableRawBufferPointer) {
    for (index, word) in ([device, inode, size] + modified + [metaHash]).enumerated() {
      bytes.storeBytes(of: word.littleEndian, toByteOffset: 8 * index, as: UInt64.self)
    }
  }
}
