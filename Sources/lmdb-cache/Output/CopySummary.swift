import LMDBCaching

/// The output of `backup` and `restore`.
struct CopySummary: Encodable {
  let directory: String
  let entries: Int
  let bytes: Int
  let damagedEntries: Int
  /// The new place of the cache that was there before.
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
