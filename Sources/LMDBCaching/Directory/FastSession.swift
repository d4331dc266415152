import Logging
import Platform

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
    var bytes = magic
    for word in [boot.high, boot.low] { withUnsafeBytes(of: word.littleEndian) { bytes += $0 } }
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
    return bytes.withUnsafeBytes {
      BootIdentifier(
        high: UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
        low: UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: 16, as: UInt64.self)))
    }
  }
}
