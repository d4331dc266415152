import Platform
import Foundation
import LMDBCaching

/// Uses a directory as a cache as far as possible: `DIRECTORY DURABILITY BOOT`; boot 0 is the current one.
enum ForeignFilesRole: TrialRole {
  static let name = "foreign-files"

  static func run(_ arguments: [String]) throws {
    let boot = UInt64(arguments[2])!
    if boot > 0 { BootIdentifier.simulate(boot: boot) }
    // A day ahead, so that every abandoned file counts as old.
    let clock = ManualClock(now: CacheClock.system.now + 86_400_000_000_000)
    let cache: LMDBCache
    do {
      cache = try TrialCache.open(arguments[0]) {
        $0.durability = Durability(rawValue: UInt8(arguments[1])!)!
        $0.clock = .manual(clock)
      }
    } catch {
      let code = (error as? CacheError)?.code ?? .storageFailed
      return answer(code == .storageFailed ? "failed without a name: \(error)" : "refused \(code)")
    }
    try cache.set(Data(count: 2 << 20), forKey: "large")
    try cache.set("v", forKey: "key")
    try cache.flush()
    clock.advance(by: .seconds(61))
    try cache.sweepValues()
    guard try cache.value(String.self, forKey: "key") == "v" else { return answer("a write is lost") }
    try cache.trim(to: .count(1))
    try cache.removeAll()
    try cache.set("w", forKey: "key")
    try cache.close()
    answer("done")
  }
}
