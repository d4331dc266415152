import Foundation
import LMDBCaching

/// One process, as shown by `top`.
struct TopProcess: Encodable {
  let process: Int32
  let name: String
  let opened: Date
  let openSeconds: Int
  /// Absent in JSON without reads or data.
  let hitRatio: Double?
  let perSecond: TopFigures<Double>?
  let memoryEntries: Int
  let memoryCost: Int
  /// Bytes of uncommitted writes.
  let journalUsed: Int
  let isHealthy: Bool

  init(_ statistics: ProcessStatistics, _ interval: ProcessInterval?, now: ProcessStatistics.Moment) {
    process = statistics.process
    name = statistics.name
    opened = Date(timeIntervalSince1970: Double(statistics.opened.wall) / 1e9)
    // The wall clock may have been set since.
    openSeconds = Int(max(0, now.monotonic - statistics.opened.monotonic) / 1_000_000_000)
    hitRatio = interval.flatMap { $0.statistics.reads > 0 ? $0.statistics.hitRatio : nil }
    perSecond = interval.map { TopFigures($0.rate) }
    memoryEntries = statistics.memoryCount
    memoryCost = statistics.memoryCost
    journalUsed = statistics.journalUsed
    isHealthy = statistics.isHealthy
  }
}
