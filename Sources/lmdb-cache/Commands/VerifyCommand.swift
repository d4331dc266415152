import ArgumentParser
import Foundation
import LMDB
import LMDBCaching

struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    "verify", "Reads the database of a cache and tells whether it is sound.",
    """
    Reads the files and changes nothing: the next opening sets a damaged cache aside. Checks the structure, and that \
    all entries of the last transaction are there; with --values also the checksum of every entry and value.

    While others write, it checks one committed state. If they commit faster than the file can be read, it checks the \
    entries in small parts, and neither the free pages nor whether entries are missing.

    Examples:
      lmdb-cache verify ./demo
      lmdb-cache verify --values --json ./demo | jq .damage

    Exits with 4 if the database or an entry is damaged.
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
    let directory = try CacheLocation.existing(directory ?? cache ?? "")
    // The file is read once unless others write it; the size of the values is unknown.
    let total = values ? nil : Platform.size(ofFileAt: directory.path + "/data.mdb")
    let before = Platform.bytesRead() ?? 0
    let report = try Progress.during(of: total) {
      Platform.bytesRead().map { min($0 - before, total ?? .max) }
    } _: {
      try CacheOpening.looking {
        try CacheInspection.verify(directory: directory, checksValues: values)
      }
    }
    try self.summary(of: report, directory.path).write(json: json)
    for notice in report.notices { StandardError.tell(notice) }
    if report.damagedEntries > 0 { throw ExitStatus.damaged.code }
  }

  private struct Damage: Encodable {
    let code, message: String
  }

  private func summary(of report: CacheInspection.Report, _ directory: String) -> Report {
    var summary = Report()
    summary.add("directory", directory, "directory", Formatting.key(directory))
    let file = report.file
    summary.add(
      "isWhole", file != nil, "database",
      file == nil
        ? "every entry can be read; others commit too fast for the file to be checked as a whole" : "sound")
    if let file {
      summary.add("bytes", file.size, "bytes")
      summary.addPages(file.pages, of: file.pageSize)
      summary.addTree(
        "depth", file.depth, branch: file.branchPages, leaf: file.leafPages, overflow: file.overflowPages)
      summary.add("freePages", file.freePages, "free pages")
      summary.add("unreferencedPages", file.unreferencedPages)
      summary.add("lastTransaction", file.transactionID, "last transaction")
    }
    let unchecked = report.transactionsMeanwhile
    summary.add(
      "transactionsMeanwhile", unchecked, unchecked > 0 ? "not checked" : nil,
      "\(Formatting.grouped(unchecked)) transactions that were committed meanwhile")
    summary.add("pendingWrites", report.pendingWrites, report.pendingWrites > 0 ? "waiting writes" : nil)
    if values || file == nil { summary.add("entries", report.entries, "entries read") }
    summary.add("damagedEntries", report.damagedEntries, report.damagedEntries > 0 ? "damaged entries" : nil)
    summary.add("damage", report.damage.map { Damage(code: "\($0.code)", message: $0.message) })
    summary.notes = report.damage.map { Formatting.line($0.message) + "\n" }.joined()
    return summary
  }
}
