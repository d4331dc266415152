import ArgumentParser
import Foundation
import LMDBCaching

struct TrimLimits: ParsableArguments, Equatable {
  @Option(help: ArgumentHelp("How many entries may stay.", valueName: "n")) var count: Int?
  @Option(help: ArgumentHelp("The greatest total cost; an entry's default is its bytes.", valueName: "bytes"))
  var cost: Int?
  @Option(help: ArgumentHelp("Removes entries whose last access is longer ago.", valueName: "seconds"))
  var age: Double?
  @Option(help: ArgumentHelp("Removes entries that were stored longer ago.", valueName: "seconds"))
  var creationAge: Double?

  init() {}

  init(count: Int?, cost: Int?, age: Double?) {
    (self.count, self.cost, self.age, creationAge) = (count, cost, age, nil)
  }

  func validate() throws {
    if count == nil && cost == nil && age == nil && creationAge == nil {
      throw ValidationError("Give --count, --cost, --age or --creation-age.")
    }
    if let count, count < 0 { throw ValidationError("--count is 0 or more.") }
    if let cost, cost < 0 { throw ValidationError("--cost is 0 or more.") }
    for (name, age) in [("--age", age), ("--creation-age", creationAge)] {
      if let age, !(age >= 0 && age < 1e10) { throw ValidationError("\(name) is a number of seconds, 0 or more.") }
    }
  }

  static func == (first: Self, second: Self) -> Bool {
    (first.count, first.cost, first.age, first.creationAge) == (
      second.count, second.cost, second.age, second.creationAge
    )
  }

  func trim(_ cache: DiskCache) throws {
    if let creationAge { try cache.removeAll(createdBefore: Date(timeIntervalSinceNow: -creationAge)) }
    if let age { try cache.trim(toAge: .seconds(age)) }
    if let count { try cache.trim(toCount: count) }
    if let cost { try cache.trim(toCost: cost) }
  }
}
