import Foundation
import LMDBCaching
import Synchronization

/// A hit of the memory tier, 200,000 keys in random order, beside a dictionary in a mutex that does none of the work.
struct MemoryHit: Figure {
  let name = "memory.get.random"
  private let count = 200_000

  final class Value: Sendable {
    let number: Int
    init(_ number: Int) { self.number = number }
  }

  func measure(_ setup: Setup) throws -> [Result] {
    var random = SplitMix(state: 1)
    let keys = (0..<count).map { "user:profile:\($0)" }
    let order = keys.shuffled(using: &random)
    // The same keys as other strings, as a program has that makes them anew.
    let fresh = order.map { String(decoding: Array($0.utf8), as: UTF8.self) }

    let dictionary = Mutex<[String: Value]>([:])
    let memory = MemoryCache<String, Value>()
    let cache = try LMDBCache(directory: try setup.directory())
    for (number, key) in keys.enumerated() {
      dictionary.withLock { $0[key] = Value(number) }
      memory.set(Value(number), forKey: key)
      try cache.set(number, forKey: key)
    }
    try cache.flush()

    var times: [String: [Double]] = [:]
    for _ in 0..<setup.rounds {
      for (label, keys) in [("same", order), ("fresh", fresh)] {
        times["dictionary \(label)", default: []].append(
          nanoseconds(per: count) { for key in keys { consume(dictionary.withLock { $0[key] }) } })
        times["memory \(label)", default: []].append(
          nanoseconds(per: count) { for key in keys { consume(memory.value(forKey: key)) } })
        times["cache \(label)", default: []].append(
          try nanoseconds(per: count) { for key in keys { consume(try cache.value(Int.self, forKey: key)) } })
      }
    }
    precondition(cache.statistics.diskHits == 0)
    try cache.close()
    return ["same", "fresh"].flatMap { label in
      ["memory", "cache"].map { subject in
        let own = times["\(subject) \(label)"]!.median
        let reference = times["dictionary \(label)"]!.median
        return Result(
          name: "\(name) \(subject == "memory" ? "MemoryCache" : "LMDBCache"), \(label) strings",
          value: own / reference,
          unit: "x Mutex<Dictionary>", goal: 1, detail: "\(number(own)) ns beside \(number(reference)) ns")
      }
    }
  }
}

@inline(never)
func consume<T>(_ value: T?) {
  precondition(value != nil)
}
