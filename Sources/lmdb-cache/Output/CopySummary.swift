import LMDBCaching

/// What `backup` and `restore` print.
struct CopySummary: Encodable {
  let directory: String
  let entries: Int
  let bytes: Int
  let damagedEntries: Int
  /// Where the cache is now that was there before.
  let former: String?

  init(directory: String, _ report: BackupReport, former: String? = nil) {
    self.directory = directory
    self.former = former
    entries = report.entries
    bytes = report.bytes
    damagedEntries = report.damagedEntries
  }

  var text: String {
    var table = TextTable([.left, .right])
    table.append(["entries", Formatting.grouped(entries)])
    table.append(["bytes", Formatting.bytes(bytes)])
    return table.text + (former.map { "The cache that was there is now \(Formatting.key($0))\n" } ?? "")
  }
}
