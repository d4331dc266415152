import Foundation
import LMDB
import LMDBCaching

/// What `stat` prints.
struct CacheSummary: Encodable {
  let directory: String
  let durability: String
  let entries: Int
  let totalCost: Int
  /// Absent in JSON: some of the files may not be looked at.
  let bytesOnDisk: Int?
  /// What entries take up.
  let liveBytes: Int
  /// What is in the value log, and no entry refers to.
  let deadBytes: Int
  /// What the next entries are written to.
  let freeBytes: Int
  let pageSize: Int
  /// Pages of the database's file, free ones included.
  let pages: Int
  let treeDepth: Int
  let branchPages: Int
  let leafPages: Int
  let overflowPages: Int
  /// The address space that is set aside; not disk space.
  let mapSize: Int
  let lastTransaction: UInt64
  /// Absent in JSON: it cannot be told.
  let readers: Int?
  /// Absent in JSON: none is open, or it cannot be told.
  let oldestSnapshot: OldestSnapshot?
  /// Writes that wait in journals: of processes that have the cache open, or that died.
  let pendingWrites: Int
  /// Whether these are counted in `entries` and `totalCost`.
  let countsPendingWrites: Bool
  let isHealthy: Bool
  /// "healthy", or what is the matter.
  let health: String
  /// Absent in JSON: it was not asked for.
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
