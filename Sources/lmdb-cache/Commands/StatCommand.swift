import ArgumentParser
import LMDBCaching

/// `stat`
struct StatCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stat",
    abstract: "Tells how many entries a cache holds, what they take up, and whether it is healthy.",
    discussion: """
      Nothing is scanned, so this is quick for caches of any size. Entries that have expired count until they are \
      removed.

      Example:
        lmdb-cache stat --json --cache ./demo | jq .entries

      Exits with 1 if the disk tier is not healthy.

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption
  @Flag(help: "Writes an object.") var json = false

  func run() throws {
    let summary = try option.withReader { reader in try CacheSummary(of: reader) }
    try StandardOutput.write(json ? JSONOutput.encode(summary) + "\n" : summary.table)
    if !summary.isHealthy { throw ExitStatus.negative.code }
  }
}
