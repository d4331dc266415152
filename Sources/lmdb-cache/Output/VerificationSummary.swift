import LMDB

/// What `verify` prints of a sound database.
struct VerificationSummary: Encodable {
  let directory: String
  let bytes: Int
  let pageSize: Int
  let pages: Int
  let depth: Int
  let branchPages: Int
  let leafPages: Int
  let overflowPages: Int
  let freePages: Int
  let unreferencedPages: Int
  let lastTransaction: UInt64

  init(directory: String, _ file: VerifiedDataFile) {
    self.directory = directory
    bytes = file.size
    pageSize = file.pageSize
    pages = file.pages
    depth = file.depth
    branchPages = file.branchPages
    leafPages = file.leafPages
    overflowPages = file.overflowPages
    freePages = file.freePages
    unreferencedPages = file.unreferencedPages
    lastTransaction = file.transactionID
  }

  var table: String {
    var table = TextTable([.left, .left])
    table.append(["directory", directory])
    table.append(["database", "sound"])
    table.append(["bytes", Formatting.grouped(bytes)])
    table.append(["pages", "\(Formatting.grouped(pages)) of \(Formatting.grouped(pageSize)) bytes"])
    table.append(["tree", Formatting.tree(levels: depth, branchPages, leafPages, overflowPages)])
    table.append(["free pages", Formatting.grouped(freePages)])
    table.append(["last transaction", Formatting.grouped(lastTransaction)])
    return table.text
  }
}
