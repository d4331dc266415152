import Foundation
import LMDB
import LMDBCaching

/// The output of `stat`.
struct CacheSummary: Encodable {
  let directory: String
  let durability: String
  let entries: Int
  let totalCost: Int
  /// Absent in JSON if some files are not accessible.
  let bytesOnDisk: Int?
  /// Bytes of entries.
  let liveBytes: Int
  /// Unreferenced bytes in the value log.
  let deadBytes: Int
  /// Bytes free for the next entries.
  let freeBytes: Int
  let pageSize: Int
  /// Pages of the database's file, including free ones.
  let pages: Int
  let treeDepth: Int
  let branchPages: Int
  let leafPages: Int
  let overflowPages: Int
  /// Reserved address space, not disk space.
  let mapSize: Int
  let lastTransaction: UInt64
  /// Absent in JSON if unknown.
  let readers: Int?
  /// Absent in JSON if none is open or it is unknown.
  let oldestSnapshot: OldestSnapshot?
  /// Writes pending in journals of live or dead processes.
  let pendingWrites: Int
  /// Whether `entries` and `totalCost` include pending writes.
  let countsPendingWrites: Bool
  let isHealthy: Bool
  /// "healthy", or the problem.
  let health: String
  /// Absent in JSON if not requested.
  var contents: ContentSummary?

  init(of reader: CacheReader) throws {
    let figures = try reader.figures()
    directory = reader.directory.path
    durability = figures.durability.map { "\($0)" } ?? "none yet"
    entries = figures.entries
    totalCost = figures.totalCost
    bytesOnDisk = figures.bytesOnDisk
    (liveBytes, deadBytes, freeBytes) = (figures.liveBytes, figures.deadBytes, figures.freeBytes)
    let database = figures.database
    pageSize = database.pageSize
    pages = database.pages
    treeDepth = database.depth
    branchPages = database.branchPages
    leafPages = database.leafPages
    overflowPages = database.overflowPages
    mapSize = database.mapSize
    lastTransaction = database.transactionID
    readers = figures.readers?.slotsInUse
    oldestSnapshot = figures.readers.flatMap { OldestSnapshot($0.readers, lastTransaction: database.transactionID) }
    pendingWrites = figures.pendingWrites
    countsPendingWrites = figures.countsPendingWrites
    let notices = reader.notices
    isHealthy = notices.isEmpty
    health = notices.isEmpty ? "healthy" : notices.joined(separator: "; ")
  }

  var table: String {
    var table = TextTable([.left, .left])
    table.append(["directory", Formatting.key(directory)])
    table.append(["durability", durability])
    table.append(["health", Formatting.line(health)])
    table.append(["entries", Formatting.grouped(entries)])
    table.append(["total cost", Formatting.grouped(totalCost)])
    table.append(["bytes on disk", bytesOnDisk.map(Formatting.grouped) ?? "not all may be looked at"])
    table.append(["  live", Formatting.grouped(liveBytes)])
    table.append(["  dead", Formatting.grouped(deadBytes)])
    table.append(["  free", Formatting.grouped(freeBytes)])
    table.append(["pages", "\(Formatting.grouped(pages)) of \(Formatting.grouped(pageSize)) bytes"])
    table.append(["tree", Formatting.tree(levels: treeDepth, branchPages, leafPages, overflowPages)])
    table.append(["map", "\(Formatting.grouped(mapSize)) bytes of address space"])
    table.append(["last transaction", Formatting.grouped(lastTransaction)])
    if let readers { table.append(["reader slots used", Formatting.grouped(readers)]) }
    if let oldestSnapshot { table.append(["oldest snapshot", oldestSnapshot.text]) }
    if pendingWrites > 0 {
      let remark = countsPendingWrites ? "" : ", which are not counted above"
      table.append(["waiting writes", Formatting.grouped(pendingWrites) + remark])
    }
    return table.text + (contents?.table ?? "")
  }
}
