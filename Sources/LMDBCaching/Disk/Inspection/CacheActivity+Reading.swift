import Platform

extension CacheActivity {
  /// Reads the statistics of live processes for a cache, and measures its files, without opening or changing it.
  ///
  /// - Throws: `.invalidDirectory` without a cache; `.permissionDenied`, `.storageFailed`.
  package static func read(path: String) throws(CacheError) -> CacheActivity {
    let directory: Directory
    do throws(SystemError) {
      guard let existing = try Directory(existing: path) else { throw SystemError("open", path, errno: ENOENT) }
      directory = existing
    } catch {
      if [ENOENT, ENOTDIR, ENAMETOOLONG, ELOOP].contains(error.errno) || error.finding != nil {
        throw Self.noCache(path)
      }
      throw CacheError(error, during: "Opening the cache directory \(path)")
    }
    let found = try calling("Looking at \(directory.path)") { () throws(SystemError) in try read(directory) }
    guard let found else { throw noCache(path) }
    return found
  }

  private static func noCache(_ path: String) -> CacheError {
    CacheError(.invalidDirectory, "There is no cache in \(path). Give the path of a cache's directory.")
  }

  private static func read(_ directory: Directory) throws(SystemError) -> CacheActivity? {
    guard let data = try directory.status(of: CacheDirectory.dataName), data.kind == .regular else { return nil }
    var activity = CacheActivity()
    activity.moment = ProcessStatistics.Moment(
      wall: RealTimeClock.nanoseconds, monotonic: MonotonicClock.nanoseconds)
    for found in try StatisticsFolder(cache: directory).read() {
      switch found {
      case .statistics(let statistics): activity.processes.append(statistics)
      case .unreadable: activity.unreadableProcesses += 1
      }
    }
    activity.processes.sort {
      ($0.opened.monotonic, $0.process, $0.identifier) < ($1.opened.monotonic, $1.process, $1.identifier)
    }
    activity.files.database = data.allocatedBytes
    activity.files.values = try size(of: ValueFolder.name, in: directory)
    activity.files.journals = try size(of: JournalName.folder, in: directory)
    return activity
  }

  private static func size(of folder: String, in directory: Directory) throws(SystemError) -> Int? {
    try CacheReader.ifAllowed { () throws(SystemError) in
      try directory.subdirectory(folder)?.allocatedBytes() ?? 0
    }
  }
}
