import ArgumentParser
import Foundation
import LMDBCaching

struct RestoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Puts a copy of a backup in the place of a cache.",
    discussion: """
      The backup is verified first, and only read. Its copy is made beside the cache, verified, and takes the cache's \
      place in one step, which needs the cache closed: it is refused if a process has it open. The cache that was there \
      gets another name, which is told; with --replace it is removed once the copy is in its place. Without a cache the \
      copy becomes one.

      Example:
        lmdb-cache restore /backups/thumbnails-monday --cache thumbnails

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption
  @Argument(help: ArgumentHelp("The backup, or any other cache.", valueName: "dir"), completion: .directory)
  var source: String
  @Flag(help: "Removes the cache that was there.") var replace = false
  @Flag(help: "Writes an object.") var json = false

  func run() throws {
    let interruption = Interruption()
    let backup = URL(fileURLWithPath: source)
    let directory = try CacheLocation.directory(option.cache)
    let reader = try CacheOpening.reader(at: backup)
    let bar = CopyProgress()
    defer { bar.end() }
    var options = CacheCopying.Options()
    options.progress = { bar.show($0) }
    options.isCancelled = { interruption.hasHappened }
    bar.total = try reader.figures().entries
    let report = try CacheRestoration.run(from: reader, to: directory, removingFormer: replace, options)
    guard let report else { throw ToolError(.interrupted, "interrupted; the cache is as it was") }
    bar.end()
    for notice in report.notices { StandardError.tell(notice) }
    let summary = CopySummary(directory: directory.path, report.backup, former: report.former?.path)
    try StandardOutput.write(json ? JSONOutput.encode(summary) + "\n" : summary.text)
  }
}
