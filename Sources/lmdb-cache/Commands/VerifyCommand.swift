import ArgumentParser
import Foundation
import LMDB
import LMDBCaching

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Reads the database of a cache and tells whether it is sound.",
    discussion: """
      The files are read, never mapped, and nothing is changed: a damaged cache is set aside when it is opened next. The \
      structure is checked, and that the entries are those of the last transaction. With --values every entry and its \
      value is read as well, and held against its checksum.

      A cache that is in use can be verified, too. What is told is true of one committed state then: nothing is said of \
      what is committed while it is read, nor of values that no entry refers to yet. Where transactions follow each other \
      faster than the file can be read, the entries are read in small parts, each of a state of its own; then the list \
      of free pages is not checked, nor whether entries are missing.

      Examples:
        lmdb-cache verify ./demo
        lmdb-cache verify --values --json ./demo | jq .damage

      Exits with 4 if the database is damaged, or an entry of it.

      \(ExitStatus.explanation)
      """)

  @Argument(help: ArgumentHelp("\(CacheOption.explanation)", valueName: "dir"), completion: CacheCompletion.kind)
  var directory: String?
  @Option(
    name: .long, help: ArgumentHelp("The same, as other commands take it.", valueName: "dir"),
    completion: CacheCompletion.kind)
  var cache: String?
  @Flag(help: "Compares the checksum of every entry and of its value.") var values = false
  @Flag(help: "Writes an object.") var json = false

  func validate() throws {
    if (directory == nil) == (cache == nil) { throw ValidationError("Name one cache, with --cache or without it.") }
  }

  func run() throws {
    let directory = try CacheLocation.directory(directory ?? cache ?? "")
    // A permission error is reported as such.
    guard [nil, EACCES].contains(Platform.statusError(ofFileAt: directory.path + "/data.mdb")) else {
      throw ToolError(.noInput, "there is no cache in \(directory.path)")
    }
    // The file is read once unless others write it; the size of the values is unknown.
    let total = values ? nil : Platform.size(ofFileAt: directory.path + "/data.mdb")
    let before = Platform.bytesRead() ?? 0
    let report = try ProgressWatch.during(of: total) {
      Platform.bytesRead().map { min($0 - before, total ?? .max) }
    } _: {
      try CacheOpening.looking {
        try CacheInspection.verify(directory: directory, checksValues: values)
      }
    }
    let summary = VerificationSummary(directory: directory.path, report, checksValues: values)
    try StandardOutput.write(json ? JSONOutput.encode(summary) + "\n" : summary.table)
    for notice in report.notices { StandardError.tell(notice) }
    if report.damagedEntries > 0 { throw ExitStatus.damaged.code }
  }
}

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
