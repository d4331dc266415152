import Logging

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The mark of a cache with ``Durability/fast`` that is, or was, open: the boot it was opened in.
///
/// Without a sync LMDB's pages reach the disk in any order, so after a crash of the operating system nothing in
/// the file can be believed. The mark is removed by the last process to close the cache, after a sync.
enum FastSession {
  static let name = "fast-session"

  /// With the ``OpeningLock`` held.
  static func begin(_ directory: String) throws(SystemError) {
    let boot = BootIdentifier.current
    // Complete before it gets its name: a part of a mark, of a full disk, would have the cache discarded.
    let new = directory + "/" + name + ".new"
    do throws(SystemError) {
      let file = try File(new, flags: O_WRONLY | O_CREAT | O_TRUNC)
      try file.write(Array("\(boot.high) \(boot.low)\n".utf8))
      try file.synchronize()
      try Directory.move(new, to: directory + "/" + name)
    } catch {
      unlink(new)
      throw error
    }
    try Directory.synchronize(directory)
  }

  static func end(_ directory: String) throws(SystemError) { try Directory.removeFile(directory + "/" + name) }

  /// Discards the files of a session that the operating system's crash interrupted.
  static func discardUntrusted(_ directory: String, _ processLock: ProcessLock, logger: Logger) throws(SystemError) {
    // Whoever else is here is before this too, and one of them does it; or it opened the cache in this boot, and so
    // has been through this.
    for _ in 0..<100 {
      guard let boot = try boot(of: directory), boot != BootIdentifier.current else { return }
      if try processLock.tryOwn() {
        logger.warning(
          "cache discarded: the operating system stopped while it was open with durability .fast",
          metadata: ["directory": "\(directory)"])
        try discard(directory)
        return try processLock.share()
      }
      // flock(2) has dropped the shared lock, so that another one can be the only owner; who is it waits for nobody.
      usleep(.random(in: 0..<2_000))
      try processLock.share()
    }
  }

  private static func discard(_ directory: String) throws(SystemError) {
    for name in ["data.mdb", "lock.mdb"] { try Directory.removeFile(directory + "/" + name) }
    for folder in [JournalFile.folder, ValueFiles.folder] {
      for name in try Directory.names(in: directory + "/" + folder) {
        try Directory.removeFile(directory + "/" + folder + "/" + name)
      }
      try Directory.synchronizeIfPresent(directory + "/" + folder)
    }
    // The mark goes last: were it gone after a power cut, and the database not, that would be believed.
    try Directory.synchronize(directory)
    try end(directory)
  }

  private static func boot(of directory: String) throws(SystemError) -> BootIdentifier? {
    let file: File
    do throws(SystemError) {
      file = try File(directory + "/" + name, flags: O_RDONLY)
    } catch {
      if error.errno == ENOENT { return nil }
      throw error
    }
    var text = [UInt8](repeating: 0, count: min(64, Int(try file.status().st_size)))
    _ = try file.read(&text)
    let numbers = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isWhitespace).map { UInt64($0) }
    guard numbers.count == 2, let high = numbers[0], let low = numbers[1] else {
      return BootIdentifier(high: 0, low: 0)  // Unreadable: not of this boot.
    }
    return BootIdentifier(high: high, low: low)
  }
}
