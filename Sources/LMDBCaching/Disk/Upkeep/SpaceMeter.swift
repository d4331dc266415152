import LMDB
import Platform

/// Measures what the bytes of a cache's files are used for. Any thread.
final class SpaceMeter: Sendable {
  private let database: EntryDatabase
  private let values: ValueLog
  private let current: CurrentDirectory

  init(_ database: EntryDatabase, _ values: ValueLog, _ current: CurrentDirectory) {
    self.database = database
    self.values = values
    self.current = current
  }

  /// Adds what is found. No scan of entries: what is in use is counted as it changes.
  func add(to statistics: inout CacheStatistics) throws(CacheError) {
    let usage = try database.valueUsage()
    let (used, allocated) = (try usedByDatabase(), try allocatedByDatabase())
    let segments = try calling(activity) { () throws(SystemError) in
      try ValueFolder(cache: current.value).segments().reduce(0) {
        $0.addingClamped(max(0, $1.size - ValueSegment.headerSize))
      }
    }
    // Another process may write meanwhile.
    let reserved = min(values.reservedBytes, max(0, segments - usage.bytes))
    statistics.liveBytes += used.addingClamped(usage.bytes)
    statistics.deadBytes += max(0, segments - usage.bytes - reserved)
    statistics.freeBytes += max(0, allocated - used) + reserved
  }

  /// Bytes of the pages of the database's file that are in use.
  func usedByDatabase() throws(CacheError) -> Int {
    let info = try database.accessing(activity) { () throws(LMDBError) in try database.environment.info() }
    return info.usedBytes
  }

  /// Bytes of the database's file on the disk.
  func allocatedByDatabase() throws(CacheError) -> Int {
    try calling(activity) { () throws(SystemError) in
      try current.value.status(of: CacheDirectory.dataName)?.allocatedBytes ?? 0
    }
  }

  private var activity: String { "Measuring \(database.directoryName)" }
}
