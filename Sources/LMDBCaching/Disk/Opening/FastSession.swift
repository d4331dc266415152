import Logging
import Platform

/// The mark of a cache with ``Durability/fast`` that is, or was, open: the boot it was opened in.
///
///     offset  bytes
///          0      8  "LMDBCFS1"
///          8     16  the operating system's run
///
/// Without a sync LMDB's pages reach the disk in any order, so after a crash of the operating system nothing in
/// the file can be believed. The mark is removed by the last process to close the cache, after a sync.
enum FastSession {
  static let name = "fast-session"
  static let newName = "fast-session.new"
  private static let magic = Array("LMDBCFS1".utf8)

  static func isOurs(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magic) }

  /// With the ``OpeningLock`` held.
  static func begin(_ directory: Directory) throws(SystemError) {
    let boot = BootIdentifier.current
    var bytes = magic
    for word in [boot.high, boot.low] { withUnsafeBytes(of: word.littleEndian) { bytes += $0 } }
    // Complete before it gets its name: a part of a mark, of a full disk, would have the cache discarded.
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

  /// Whether there is one: what is in the files cannot be believed.
  ///
  /// A mark may also be there by chance: of a `.fast` cache whose making was interrupted, in a directory that is another
  /// cache's by now. That one has said so in a mark of its own, with a checksum.
  static func isInterrupted(in directory: Directory) throws(SystemError) -> Bool {
    // A run that cannot be told may be another one.
    guard let boot = try boot(of: directory), !boot.isKnownToBe(.current) else { return false }
    guard case .mark(let mark) = try CleanExitMark.read(in: directory) else { return true }
    return mark.durability == .fast
  }

  /// Discards the files of an interrupted session. Nobody but an opening that asks for a cache of this kind, and may make it
  /// anew, does so.
  ///
  /// - Throws: `.durabilityMismatch`, or `.damagedDatabase` with ``CacheConfiguration/Disk/recoversFromDamage`` off. Nothing
  ///   was changed then.
  static func discardInterrupted(
    _ cache: CacheDirectory, _ configuration: CacheConfiguration, _ processLock: ProcessLock, events: EventLog
  ) throws(CacheError) {
    let activity = "Opening the cache in \(cache.directory.path)"
    // Whoever else is here is before this too, and one of them does it; or it opened the cache in this boot, and so
    // has been through this.
    for _ in 0..<100 {
      guard try calling(activity, { () throws(SystemError) in try isInterrupted(in: cache.directory) }) else { return }
      guard configuration.durability == .fast else { throw mismatch(cache.directory, configuration.durability) }
      guard configuration.disk.recoversFromDamage else { throw untrusted(cache.directory) }
      let isDone = try calling(activity) { () throws(SystemError) in
        if try processLock.tryOwn() {
          events.log(
            .warning, "cache discarded: the operating system stopped while it was open with durability .fast",
            ["directory": "\(cache.directory.path)"])
          try discard(cache.directory)
          try processLock.share()
          return true
        }
        // flock(2) has dropped the shared lock, so that another one can be the only owner; who is it waits for nobody.
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

  /// The error of who may not discard it.
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
    // The mark goes last: were it gone after a power cut, and the database not, that would be believed.
    try directory.synchronize()
    try end(directory)
  }

  /// The boot that the mark is of, or `nil` if there is none.
  private static func boot(of directory: Directory) throws(SystemError) -> BootIdentifier? {
    guard let file = try directory.open(name) else { return nil }
    var bytes = [UInt8](repeating: 0, count: magic.count + 16)
    // Cut off: of no boot.
    guard try file.read(&bytes), isOurs(bytes) else { return .unknown }
    return bytes.withUnsafeBytes {
      BootIdentifier(
        high: UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
        low: UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: 16, as: UInt64.self)))
    }
  }
}
