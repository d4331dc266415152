import ArgumentParser
import Foundation
import LMDB
import LMDBCaching

/// `verify`
struct VerifyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Reads the database of a cache and tells whether it is sound.",
    discussion: """
      The file is read, never mapped, and nothing is changed: a damaged cache is set aside when it is opened next. \
      The structure is checked, and that the entries are those of the last transaction; values have checksums of \
      their own, which are compared when they are read. A cache that a process has open cannot be verified.

      Example:
        lmdb-cache verify ./demo

      Exits with 65 if the database is damaged, and with 75 if the cache is open.

      \(ExitStatus.explanation)
      """)

  @Argument(help: ArgumentHelp("\(CacheOption.explanation)", valueName: "dir"), completion: CacheCompletion.kind)
  var cache: String
  @Flag(help: "Writes an object.") var json = false

  func run() throws {
    let directory = try CacheLocation.directory(cache)
    guard Platform.statusError(ofFileAt: directory.path + "/data.mdb") == nil else {
      throw ToolError(.noInput, "there is no cache in \(directory.path)")
    }
    let result: VerifiedDataFile
    let before = Platform.bytesRead() ?? 0
    do throws(CacheError) {
      // It is read once, and nothing else is.
      result = try ProgressWatch.during(of: Platform.size(ofFileAt: directory.path + "/data.mdb")) {
        Platform.bytesRead().map { $0 - before }
      } _: { () throws(CacheError) in
        try CacheInspection.verify(directory: directory)
      }
    } catch {
      guard error.code == .busy else { throw error }
      throw ToolError(.busy, error.message)
    }
    let summary = VerificationSummary(directory: directory.path, result)
    try StandardOutput.write(json ? JSONOutput.encode(summary) + "\n" : summary.table)
  }
}
