import Foundation
import LMDBCaching
import TestSupport

/// Opens the cache, increments numbers in every way, closes or releases it, and starts over. Prints the key's number
/// after each increment.
enum UpdatesRole: TrialRole {
  static let name = "updates"

  static func run(_ arguments: [String]) throws {
    var random = SeededRandom(UInt64(arguments[1])!)
    while true {
      do {
        let interval = [0, 5, 50, 500].randomElement(using: &random)!
        let cache = try TrialCache.open(arguments[0]) {
          $0.disk.groupCommitInterval = .milliseconds(interval)
          // Other processes get suspended for moments.
          $0.disk.lockTimeout = .seconds(30)
        }
        for _ in 0...random.below(60) {
          let key = random.below(UpdatesTrial.keys.count)
          try add(UpdatesTrial.keys[key], cache, &random)
          answer("\(key)")
          if random.below(20) == 0 { usleep(UInt32(random.below(20_000))) }
        }
        if random.below(2) == 0 { try cache.close() }
      } catch {
        answer("\(error)")
      }
      usleep(UInt32(random.below(5_000)))
    }
  }

  private static func add(_ key: String, _ cache: LMDBCache, _ random: inout SeededRandom) throws {
    switch random.below(3) {
    case 0: try cache.increment(forKey: key)
    case 1: try cache.withoutMemory.update(Int.self, forKey: key) { $0 = ($0 ?? 0) + 1 }
    default:
      while true {
        guard let entry = try cache.entry(forKey: key) else {
          if try cache.set(1, forKey: key, if: .absent) { return }
          continue
        }
        // If the value is newer than the entry, the set is refused.
        let number = try cache.value(Int.self, forKey: key) ?? 0
        if try cache.set(number + 1, forKey: key, if: .version(entry.version)) { return }
      }
    }
  }
}
