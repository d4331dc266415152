import ArgumentParser
import LMDBCaching

struct TrimCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "trim",
    abstract: "Removes expired entries, and the least used ones until a limit is kept.",
    discussion: """
      Several limits may be given; all are kept then. Returns when it is done. The database's file does not shrink, \
      but uses the space again.

      Example:
        lmdb-cache trim --count 10000 --age 86400 --cache ./demo

      \(ExitStatus.explanation)
      """)

  @OptionGroup var option: CacheOption
  @OptionGroup var limits: TrimLimits

  func run() throws {
    try option.withExisting { cache, _ in
      let before = try cache.entryCount()
      // The number of removals is known only for a limit on the count.
      let total =
        limits.age == nil && limits.cost == nil && limits.creationAge == nil
        ? limits.count.map { max(0, before - $0) } : nil
      try ProgressWatch.during(of: total) {
        max(0, before - cache.count)
      } _: {
        try limits.trim(cache)
      }
    }
  }
}
