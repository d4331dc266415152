import LMDB
import Platform

/// Measures how a cache's files use their space. Any thread.
final class SpaceMeter: Sendable {
  private let database: EntryDatabase
  private let values: ValueLog
  private let current: CurrentDirectory

  init(_ database: EntryDatabase, _ values: ValueLog, _ current: CurrentDirectory) {
    self.database = database
    self.values = values
    self.current = current
  }

  /// Adds the measurements without a scan, because usage is counted as it changes.
  func add(to statistics: inout CacheStatistics) throws(CacheError) {
    let usage = try database.valueUsage()
    let (used, allocated) = (try usedByDatabase(), try allocatedByDatabase())
    let segments = try calling(activity) { () throws(SystemError) in
      try ValueFolder(cache: current.value).segments().reduce(0) {
        $0.addingClamped(max(0, $1.size - ValueSegment.headerSize))
      }
    }
    // Another process may have written in between.
    let reserved = min(values.reservedBytes, max(0, segments - usage.bytes))
    statistics.liveBytes += used.addingClamped(usage.bytes)
    statistics.deadBytes += max(0, segments - usage.bytes - reserved)
    statistics.freeBytes += max(0, allocated - used) + reserved
  }

  func usedByDatabase() throws(CacheError) -> Int {
    let info = try database.accessing(activity) { () throws(LMDBError) in try database.environment.info() }
    return info.usedBytes
  }

  func allocatedByDatabase() throws(CacheError) -> Int {
    try calling(activity) { () throws(SystemError) in
      try current.value.status(of: CacheDirectory.dataName)?.allocatedBytes ?? 0
    }
  }

  private var activity: String { "Measuring \(database.directoryName)" }
}
