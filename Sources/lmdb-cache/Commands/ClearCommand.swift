import ArgumentParser
import LMDBCaching

struct ClearCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "clear",
    abstract: "Removes every entry, in every process that uses the cache.",
    discussion: """
      Example:
        lmdb-cache clear --cache ./demo

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption

  func run() throws {
    try option.withExisting { cache, _ in try cache.removeAll() }
  }
}
