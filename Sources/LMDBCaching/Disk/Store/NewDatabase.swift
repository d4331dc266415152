import LMDB

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The database file of a new cache.
///
/// LMDB writes a new file in place and does not wait for the disk: after a power cut it may have its size and nothing
/// in it, and LMDB refuses it from then on. So it is made in a folder of its own, and gets its place when it is on the
/// disk.
enum NewDatabase {
  static let folder = "new"

  /// Makes the file unless there is one. With the ``OpeningLock`` held.
  static func make(in directory: String, _ options: Environment.Options) throws(CacheError) {
    let path = directory + "/data.mdb"
    let new = directory + "/" + folder
    if Directory.exists(path) && !Directory.exists(new) { return }
    let activity = "Making the database in \(directory)"
    do throws(CacheError) {
      // Of a process that died here.
      try calling(activity) { () throws(SystemError) in try remove(new) }
      if Directory.exists(path) { return }
      try calling(activity) { () throws(SystemError) in try Directory.create(new) }
      try storing(activity) { () throws(LMDBError) in
        let environment = try Environment.open(directory: new, options: options)
        defer { environment.close() }
        try environment.sync(force: true)
      }
      try calling(activity) { () throws(SystemError) in
        try Directory.move(new + "/data.mdb", to: path)
        try Directory.synchronize(directory)
        try remove(new)
      }
    } catch {
      // What cannot be removed now, the next one to try removes.
      _ = outcome { () throws(SystemError) in try remove(new) }
      throw error
    }
  }

  private static func remove(_ folder: String) throws(SystemError) {
    for name in try Directory.names(in: folder) { try Directory.removeFile(folder + "/" + name) }
    if rmdir(folder) != 0 && errno != ENOENT { throw SystemError("rmdir", folder) }
  }
}
