import LMDB
import Platform

/// Creates the database file of a new cache.
///
/// LMDB writes a new file in place without syncing: after a power cut it may have its size but no contents, and LMDB
/// then refuses it. So the file is created in a folder, synced, and moved into place.
enum NewDatabase {
  static let folder = "new"
  private static let magic: [UInt8] = [0xDE, 0xC0, 0xEF, 0xBE]

  static func isLockFile(_ beginning: [UInt8]) -> Bool { beginning.begins(with: magic) }

  /// Creates the file unless it exists. Requires the ``OpeningLock``.
  static func make(in directory: Directory, _ options: Environment.Options) throws(CacheError) {
    let activity = "Making the database in \(directory.path)"
    let isThere = try calling(activity) { () throws(SystemError) in
      // Left by a process that died here.
      try remove(folder, in: directory)
      if try directory.kind(of: CacheDirectory.dataName) != nil { return true }
      for name in try directory.names() where isSubstitute(name) { try remove(name, in: directory) }
      return false
    }
    if isThere { return }
    var name = folder
    do throws(CacheError) {
      let new = try calling(activity) { () throws(SystemError) in
        // Leave a foreign folder of that name alone.
        if try directory.kind(of: folder) != nil { name = substitute() }
        return try directory.makeSubdirectory(name)
      }
      try storing(activity) { () throws(LMDBError) in
        // Only this process uses the folder. A power cut could leave an unrecognizable lock file.
        var options = options
        options.usesLockFile = false
        let environment = try Environment.open(new, options: options)
        defer { environment.close() }
        try environment.sync(force: true)
      }
      try calling(activity) { () throws(SystemError) in
        try new.rename(CacheDirectory.dataName, to: directory, as: CacheDirectory.dataName)
        try directory.synchronize()
        try remove(name, in: directory)
      }
    } catch {
      // The next attempt removes the leftovers; report the first error.
      do throws(SystemError) { try remove(name, in: directory) } catch {}
      throw error
    }
  }

  /// A folder name to use when a foreign folder has the usual one.
  private static func substitute() -> String {
    folder + "-" + String(UInt64.random(in: 1 << 60 ... .max), radix: 16)
  }

  private static func isSubstitute(_ name: String) -> Bool {
    name.hasPrefix(folder + "-") && name.utf8.count == folder.utf8.count + 17
      && UInt64(name.dropFirst(folder.count + 1), radix: 16) != nil
  }

  /// Whether the folder holds only leftovers of an interrupted creation.
  static func isOurs(_ folder: String, in directory: Directory) throws(SystemError) -> Bool {
    guard try directory.kind(of: folder) == .directory, let new = try directory.subdirectory(folder) else {
      return try directory.kind(of: folder) == nil
    }
    // `names` and `isEmpty` differ if a name is not UTF-8.
    let names = try new.names()
    let isEmpty = try new.isEmpty()
    if names.isEmpty { return isEmpty }
    for name in names {
      guard [CacheDirectory.dataName, CacheDirectory.lockName].contains(name), let status = try new.status(of: name),
        status.kind == .regular, status.linkCount == 1, try isDatabase(new, name)
      else { return false }
    }
    return true
  }

  /// Whether a file starts like an LMDB file; a full disk may have truncated it anywhere.
  private static func isDatabase(_ directory: Directory, _ name: String) throws(SystemError) -> Bool {
    guard let file = try directory.open(name) else { return true }
    var beginning = [UInt8](repeating: 0, count: Int(min(20, try file.status().size)))
    guard try file.read(&beginning) else { return true }
    if beginning.allSatisfy({ $0 == 0 }) { return true }
    if beginning.begins(with: magic) { return true }
    // A 16-byte page header comes first and starts with the page number, 0.
    return beginning.count < 20 ? beginning.prefix(8).allSatisfy { $0 == 0 } : beginning[16..<20].elementsEqual(magic)
  }

  private static func remove(_ folder: String, in directory: Directory) throws(SystemError) {
    guard try directory.kind(of: folder) == .directory, try isOurs(folder, in: directory) else { return }
    try directory.removeTree(folder)
  }
}
