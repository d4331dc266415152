import LMDB
import LMDBCaching

/// The output of `verify`.
struct VerificationSummary: Encodable {
  struct Damage: Encodable {
    let code: String
    let message: String
  }

  let directory: String
  /// Whether the whole file was checked; if not, page counts are absent in JSON.
  let isWhole: Bool
  let bytes: Int?
  let pageSize: Int?
  let pages: Int?
  let depth: Int?
  let branchPages: Int?
  let leafPages: Int?
  let overflowPages: Int?
  let freePages: Int?
  let unreferencedPages: Int?
  let lastTransaction: UInt64?
  /// Transactions committed during the verification, which are not checked.
  let transactionsMeanwhile: Int
  let pendingWrites: Int
  /// Entries read individually; absent in JSON if none had to be.
  let entries: Int?
  let damagedEntries: Int
  /// The first damaged entries.
  let damage: [Damage]

  init(directory: String, _ report: CacheInspection.Report, checksValues: Bool) {
    self.directory = directory
    let file = report.file
    isWhole = file != nil
    bytes = file?.size
    pageSize = file?.pageSize
    pages = file?.pages
    depth = file?.depth
    branchPages = file?.branchPages
    leafPages = file?.leafPages
    overflowPages = file?.overflowPages
    freePages = file?.freePages
    unreferencedPages = file?.unreferencedPages
    lastTransaction = file?.transactionID
    transactionsMeanwhile = report.transactionsMeanwhile
    pendingWrites = report.pendingWrites
    entries = checksValues || file == nil ? report.entries : nil
    damagedEntries = report.damagedEntries
    damage = report.damage.map { Damage(code: "\($0.code)", message: $0.message) }
  }

  var table: String {
    var table = TextTable([.left, .left])
    table.append(["directory", Formatting.key(directory)])
    if let bytes, let pages, let pageSize, let depth, let branchPages, let leafPages, let overflowPages, let freePages,
      let lastTransaction
    {
      table.append(["database", "sound"])
      table.append(["bytes", Formatting.grouped(bytes)])
      table.append(["pages", "\(Formatting.grouped(pages)) of \(Formatting.grouped(pageSize)) bytes"])
      table.append(["tree", Formatting.tree(levels: depth, branchPages, leafPages, overflowPages)])
      table.append(["free pages", Formatting.grouped(freePages)])
      table.append(["last transaction", Formatting.grouped(lastTransaction)])
    } else {
      table.append([
        "database", "every entry can be read; others commit too fast for the file to be checked as a whole",
      ])
    }
    if transactionsMeanwhile > 0 {
      table.append([
        "not checked", "\(Formatting.grouped(transactionsMeanwhile)) transactions that were committed meanwhile",
      ])
    }
    if pendingWrites > 0 { table.append(["waiting writes", Formatting.grouped(pendingWrites)]) }
    if let entries { table.append(["entries read", Formatting.grouped(entries)]) }
    if damagedEntries > 0 { table.append(["damaged entries", Formatting.grouped(damagedEntries)]) }
    return table.text + damage.map { Formatting.line($0.message) + "\n" }.joined()
  }
}
