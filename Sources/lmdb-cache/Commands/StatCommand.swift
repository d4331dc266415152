import ArgumentParser
import LMDBCaching

struct StatCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stat",
    abstract: "Tells how many entries a cache holds, what they take up, and whether all of it can be seen.",
    discussion: """
      Without --prefixes nothing is scanned, so this is quick for caches of any size. Entries that have expired count \
      until they are removed.

      --prefixes goes through all live entries, and adds them up by the beginnings of their keys (user: of user:42; with \
      --depth 2 user:42: of user:42:name), by what they are stored as, by size and by age. It takes little memory, \
      however many there are: of the beginnings those with the most bytes are told, and the sum of the others.

      Examples:
        lmdb-cache stat --json --cache ./demo | jq .entries
        lmdb-cache stat --prefixes --depth 2 --cache ./demo

      Exits with 1 if something cannot be looked at, a journal that is damaged, say.

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption
  @Flag(help: "Adds the entries up by the beginnings of their keys, by format, size and age.") var prefixes = false
  @Option(help: "How many parts of a key, each of which ends with : or /, its beginning has. (default: 1)")
  var depth: Int?
  @Option(help: "How many beginnings are told of at most. (default: 20)") var top: Int?
  @Flag(help: "Writes an object.") var json = false

  private static let greatestTop = 100_000

  func validate() throws {
    if let depth, !(1...64 ~= depth) { throw ValidationError("--depth is 1 to 64.") }
    if let top, !(1...Self.greatestTop ~= top) { throw ValidationError("--top is 1 to \(Self.greatestTop).") }
    if !prefixes, depth != nil || top != nil { throw ValidationError("--depth and --top go with --prefixes.") }
  }

  func run() throws {
    let summary = try option.withReader { reader in
      var summary = try CacheSummary(of: reader)
      if prefixes {
        summary.contents = ContentSummary(try reader.census(depth: depth ?? 1, greatestPrefixes: top ?? 20))
      }
      return summary
    }
    try StandardOutput.write(json ? JSONOutput.encode(summary) + "\n" : summary.table)
    if !summary.isHealthy { throw ExitStatus.negative.code }
  }
}
