import CXXHash
import Platform

/// The file that says what of the database is known to be sound, and how long: written after a clean exit, after a
/// verification, before the first of many commits, and when there were none for a while.
///
/// It says nothing about a copy, or another file in the place of the one it knows. So it need not be removed when the
/// cache is opened.
///
/// The death of a process leaves LMDB's file as of its last commit: pages in use are not written over, and what was
/// written is in the system's cache. It takes the end of the system, or a disk that fails, to lose some of it. So a file
/// that only processes of one run have written to need not be read again (``Scope/use``).
///
///     offset  bytes
///          0      8  "LMDBCCE1"
///          8      4  version of this layout
///         12      1  durability of the cache
///         13      1  scope: 0 run, 1 disk, 2 use
///         14      2  0
///         16     16  the operating system's run
///         32     56  the state of the database's file
///         88      8  XXH3 of what is before
struct CleanExitMark {
  static let name = "clean-exit"
  private static let magic: UInt64 = 0x3145_4343_4244_4D4C
  private static let magicBytes = withUnsafeBytes(of: magic.littleEndian) { Array($0) }
  private static let version: UInt32 = 1
  private static let size = 96

  /// What was sound, and until when.
  enum Scope: UInt8 {
    /// The state, until the operating system ends.
    case run = 0
    /// The state: it was synchronized.
    case disk = 1
    /// The file, until the operating system ends, whatever caches commit to it.
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
    /// It was cut off or changed, or nothing is known to be sound.
    case void
  }

  /// Whether a file that begins so is this one.
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

  /// Whether somebody has found damage, or a disk that fails, and nobody has verified the database since.
  static func isVoid(in directory: Directory) throws(SystemError) -> Bool {
    if case .mark(let mark) = try read(in: directory) { mark.isVoid } else { false }
  }

  /// Whether the file is the one that is sound, and in a state that is.
  func holds(in directory: Directory) throws(SystemError) -> Bool {
    guard scope == .disk || boot.isKnownToBe(.current) else { return false }
    guard !isVoid, let found = try DataFileState(directory: directory) else { return false }
    return scope == .use ? found.isSameFile(as: state) && found.size >= state.size : found == state
  }

  /// Marks the file as it is now.
  ///
  /// - Parameter wasVerified: All of it was read, by the only process. If not, a void mark stays.
  /// - Returns: Whether it is marked. It is not if another process is just changing the mark.
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

  /// Nanoseconds to wait for another process, which writes a few bytes.
  private static let longestWait: Int64 = 100_000_000

  /// Makes the file if there is none, and calls `body` while no other process changes it: it is told whether that is so, or
  /// the other one did not end.
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

  /// Makes the next opening verify. The file stays: it says that the directory is a cache, and with which durability.
  ///
  /// Where another process has the mark for longer than it may, it is made void all the same.
  ///
  /// - Parameter durability: The cache's; where there is no mark that tells it, one is made. `nil`: there is nothing to do
  ///   then.
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
      // No file has the number 0.
      let state = [UInt8](repeating: 0, count: DataFileState.size).withUnsafeBytes { DataFileState($0) }
      let void = CleanExitMark(durability: known, scope: .run, boot: BootIdentifier.current, state: state)
      try file.write(void.bytes, at: 0)
    }
  }
}
