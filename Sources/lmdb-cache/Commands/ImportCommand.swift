import ArgumentParser
import Foundation
import LMDBCaching

/// `import PATH`
struct ImportCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Takes entries that export wrote into a cache.",
    discussion: """
      Values, formats, times, costs, tags and flags are as they were; only the stamps are new, which order the writes of \
      a cache. What the cache has under a key stays, unless --overwrite is given: so an import that was interrupted goes \
      on when it is run again. Entries that have expired meanwhile are not taken. The cache is created if it is not \
      there.

      What is wrong with the file is told with the line, or with the byte where the item begins, and ends the import; \
      what was before it is taken.

      Examples:
        lmdb-cache import demo.jsonl --cache ./demo
        lmdb-cache export --cache ./old | lmdb-cache import - --cache ./new --prefix old:

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption
  @Argument(help: "What to import; - is standard input.") var path: String
  @Option(help: "What it is. (default: what it begins like)") var from: ExchangeFormat?
  @Option(help: ArgumentHelp("What is put in front of each key.", valueName: "text")) var prefix = ""
  @Flag(help: "Replaces entries that the cache has under the same keys.") var overwrite = false
  @Flag(help: "Writes an object.") var json = false
  @Option(help: "What a write promises, when the cache is created. (default: what it did in the exported one)")
  var durability: Durability?

  func run() throws {
    let interruption = Interruption()
    // First: what cannot be read leaves no new cache behind.
    let reader = try ExchangeReader(path: path, format: from)
    var progress = Progress(total: nil)
    defer { progress.end() }
    var summary = ExchangeSummary()
    let result = Result {
      try option.withExistingOrNew(durability: durability, otherwise: reader.durability) { cache in
        var work = ExchangeImport(into: cache, overwrites: overwrite)
        defer { summary = work.summary }
        try work.run(reader, prefix: prefix, progress: &progress) { interruption.hasHappened }
      }
    }
    progress.end()
    if case .success = result {
      try write(summary)
    } else if summary.examined > 0 {
      try write(summary)
    }
    try result.get()
    if !summary.isComplete {
      StandardError.write("lmdb-cache: interrupted; run the same command again to go on\n")
      throw ExitStatus.interrupted.code
    }
    if reader.unreadable > 0 {
      StandardError.write(
        "lmdb-cache: \(Formatting.grouped(reader.unreadable)) more could not be read when it was exported\n")
    }
  }

  private func write(_ summary: ExchangeSummary) throws {
    try StandardOutput.write(json ? JSONOutput.encode(summary) + "\n" : summary.text)
  }
}
