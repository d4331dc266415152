import ArgumentParser
import LMDBCaching

/// `trim`
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
  @Option(help: ArgumentHelp("How many entries may stay.", valueName: "n")) var count: Int?
  @Option(help: ArgumentHelp("The greatest total cost; an entry's default is its bytes.", valueName: "bytes"))
  var cost: Int?
  @Option(help: ArgumentHelp("Removes entries whose last access is longer ago.", valueName: "seconds"))
  var age: Double?

  func validate() throws {
    if count == nil && cost == nil && age == nil { throw ValidationError("Give --count, --cost or --age.") }
    if let count, count < 0 { throw ValidationError("--count is 0 or more.") }
    if let cost, cost < 0 { throw ValidationError("--cost is 0 or more.") }
    if let age, !(age >= 0 && age < 1e10) { throw ValidationError("--age is a number of seconds, 0 or more.") }
  }

  func run() throws {
    try option.withExisting { cache, _ in
      let before = try cache.entryCount()
      // How many go is known where their number is what is limited.
      let total = age == nil && cost == nil ? count.map { max(0, before - $0) } : nil
      try ProgressWatch.during(of: total) {
        max(0, before - cache.count)
      } _: {
        if let age { try cache.trim(toAge: .seconds(age)) }
        if let count { try cache.trim(toCount: count) }
        if let cost { try cache.trim(toCost: cost) }
      }
    }
  }
}
