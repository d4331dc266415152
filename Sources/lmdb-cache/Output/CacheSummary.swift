import Foundation
import LMDB
import LMDBCaching

/// What `stat` prints.
struct CacheSummary: Encodable {
  let directory: String
  let durability: String
  let entries: Int
  let totalCost: Int
  let bytesOnDisk: Int
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
  let readers: Int
  /// Absent in JSON: none is open.
  let oldestSnapshot: OldestSnapshot?
  /// Writes of processes that died, which this opening brought in.
  let replayedWrites: Int
  let isHealthy: Bool
  /// "healthy", or what is the matter.
  let health: String

  init(of cache: DiskCache, _ durability: Durability) throws {
    directory = cache.directory.path
    self.durability = "\(durability)"
    entries = cache.count
    totalCost = cache.totalCost
    bytesOnDisk = try cache.bytesOnDisk()
    let (info, oldestSnapshot) = try Self.info(directory, durability)
    pageSize = info.pageSize
    pages = info.lastPageNumber + 1
    treeDepth = info.depth
    branchPages = info.branchPages
    leafPages = info.leafPages
    overflowPages = info.overflowPages
    mapSize = info.mapSize
    lastTransaction = info.lastTransactionID
    readers = info.readersInUse
    self.oldestSnapshot = oldestSnapshot
    let statistics = cache.statistics
    (liveBytes, deadBytes, freeBytes) = (statistics.liveBytes, statistics.deadBytes, statistics.freeBytes)
    replayedWrites = statistics.replayedWrites
    isHealthy = cache.health.isHealthy
    health = cache.health.text
  }

  /// The environment that the cache has open; a process has one for each file.
  private static func info(
    _ directory: String, _ durability: Durability
  ) throws(ToolError) -> (Environment.Info, OldestSnapshot?) {
    var options = Environment.Options()
    options.syncMode =
      switch durability {
      case .ordered: .noMetaSync
      case .full: .full
      case .fast: .noSync
      }
    do throws(LMDBError) {
      let environment = try Environment.open(directory: directory, options: options)
      defer { environment.close() }
      return (try environment.info(), try OldestSnapshot(environment))
    } catch {
      throw ToolError(error)
    }
  }

  var table: String {
    var table = TextTable([.left, .left])
    table.append(["directory", directory])
    table.append(["durability", durability])
    table.append(["health", health])
    table.append(["entries", Formatting.grouped(entries)])
    table.append(["total cost", Formatting.grouped(totalCost)])
    table.append(["bytes on disk", Formatting.grouped(bytesOnDisk)])
    table.append(["  live", Formatting.grouped(liveBytes)])
    table.append(["  dead", Formatting.grouped(deadBytes)])
    table.append(["  free", Formatting.grouped(freeBytes)])
    table.append(["pages", "\(Formatting.grouped(pages)) of \(Formatting.grouped(pageSize)) bytes"])
    table.append(["tree", Formatting.tree(levels: treeDepth, branchPages, leafPages, overflowPages)])
    table.append(["map", "\(Formatting.grouped(mapSize)) bytes of address space"])
    table.append(["last transaction", Formatting.grouped(lastTransaction)])
    table.append(["reader slots used", Formatting.grouped(readers)])
    if let oldestSnapshot { table.append(["oldest snapshot", oldestSnapshot.text]) }
    if replayedWrites > 0 { table.append(["replayed writes", Formatting.grouped(replayedWrites)]) }
    return table.text
  }
}
