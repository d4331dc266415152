import CReference
import Foundation
import LMDBCaching

/// 100,000 sets of 100 bytes in random order, in the default durability.
struct DiskSet: Figure {
  let name = "disk.set"
  private let count = 100_000

  func measure(_ setup: Setup) throws -> [Result] {
    var random = SplitMix(state: 3)
    let order = (0..<count).map { "user:profile:\($0)" }.shuffled(using: &random)
    let value = Data(repeating: 7, count: 100)
    var returned: [Double] = []
    var committed: [Double] = []
    var each: [Double] = []
    var batches: [Double] = []
    var batchSize = 0
    for _ in 0..<setup.rounds {
      let cache = try LMDBCache(directory: try setup.directory())
      var untilReturn = 0.0
      committed.append(
        try nanoseconds(per: count) {
          untilReturn = try nanoseconds(per: count) { for key in order { try cache.set(value, forKey: key) } }
          _ = cache.count  // Waits for the last commit.
        })
      returned.append(untilReturn)
      batchSize = count / max(1, cache.statistics.commits)
      try cache.close()

      let single = try Reference(try setup.directory(), durability: .fast)
      each.append(single.put(order, value, batch: 1))
      let batched = try Reference(try setup.directory(), durability: .ordered)
      var sorted: [String] = []
      for start in stride(from: 0, to: count, by: batchSize) {
        sorted += order[start..<min(start + batchSize, count)].sorted()
      }
      batches.append(batched.put(sorted, value, batch: batchSize))
    }
    return [
      Result(
        name: "\(name) until it returns", value: returned.median / each.median,
        unit: "x LMDB in C committing each put with MDB_NOSYNC", goal: 0.25,
        detail: "\(number(returned.median)) ns beside \(number(each.median)) ns"),
      Result(
        name: "\(name) until the last commit", value: committed.median / batches.median,
        unit: "x LMDB in C writing the same sorted batches", goal: 1.5,
        detail: "\(number(committed.median)) ns beside \(number(batches.median)) ns, batches of \(batchSize)"),
    ]
  }
}
