import EFStorageLMDBCache
import Foundation
import Synchronization

/// Properties kept in the cache, beside a stored property in a mutex and beside user defaults.
struct PropertyAccess: Figure {
  let name = "wrapper"
  private let reads = 2_000_000
  private let writes = 100_000

  final class Locked: Sendable {
    let number = Mutex(1)
    let text = Mutex("a string that is longer than fifteen bytes")
  }

  final class Kept: @unchecked Sendable {  // Sendable: the wrappers' references are.
    @EFStorageLMDBCache<Int> var number: Int
    @EFStorageLMDBCache<String> var text: String

    init(_ cache: LMDBCache) {
      _number = EFStorageLMDBCache(wrappedValue: 1, forKey: "number", in: cache, persistDefaultContent: true)
      _text = EFStorageLMDBCache(
        wrappedValue: "a string that is longer than fifteen bytes", forKey: "text", in: cache,
        persistDefaultContent: true)
    }
  }

  func measure(_ setup: Setup) throws -> [Result] {
    let cache = try LMDBCache(directory: try setup.directory())
    let kept = Kept(cache)
    let otherCache = try LMDBCache(directory: try setup.directory())
    let apart = Kept(otherCache)
    let locked = Locked()
    let defaults = UserDefaults.standard
    defaults.set(1, forKey: "figures.number")
    defer { defaults.removeObject(forKey: "figures.number") }

    var times: [String: [Double]] = [:]
    func note(_ label: String, _ time: Double) { times[label, default: []].append(time) }
    for _ in 0..<setup.rounds {
      note("number", nanoseconds(per: reads) { readNumbers(kept) })
      note("locked number", nanoseconds(per: reads) { readNumbers(locked) })
      note("text", nanoseconds(per: reads) { readTexts(kept) })
      note("locked text", nanoseconds(per: reads) { readTexts(locked) })
      note("two threads", nanoseconds(per: reads) { onTwoThreads { _ in readNumbers(kept) } })
      note("two threads apart", nanoseconds(per: reads) { onTwoThreads { readNumbers($0 == 0 ? kept : apart) } })
      note("two threads, locked", nanoseconds(per: reads) { onTwoThreads { _ in readNumbers(locked) } })
      note("defaults", nanoseconds(per: reads / 100) { readDefaults(defaults) })
      note("set", nanoseconds(per: writes) { writeProperty(kept) })
      try cache.flush()
      note("cache.set", try nanoseconds(per: writes) { try writeEntry(cache) })
      try cache.flush()
    }
    try cache.close()
    try otherCache.close()

    func ratio(_ label: String, _ own: String, _ reference: String, _ goal: Double, _ unit: String) -> Result {
      Result(
        name: "wrapper.\(label)", value: times[own]!.median / times[reference]!.median, unit: unit, goal: goal,
        detail: "\(number(times[own]!.median)) ns beside \(number(times[reference]!.median)) ns")
    }
    return [
      ratio("get, Int", "number", "locked number", 1, "x a stored property in a Mutex"),
      ratio("get, String", "text", "locked text", 1, "x a stored property in a Mutex"),
      // What the machine makes of two threads that have nothing to do with each other is the measure.
      ratio("get, Int, two threads, one property", "two threads", "two threads apart", 1.1, "x a property each"),
      ratio("get, Int, two threads", "two threads", "two threads, locked", 1, "x the same in a Mutex"),
      ratio("get, Int, beside UserDefaults", "number", "defaults", 0.01, "x UserDefaults.integer(forKey:)"),
      ratio("set, Int", "set", "cache.set", 1.3, "x LMDBCache.set"),
    ]
  }

  // Not inlined, so that each loop reads what it is given, time after time.

  @inline(never) private func readNumbers(_ kept: Kept) {
    var sum = 0
    for _ in 0..<reads { sum &+= kept.number }
    precondition(sum != 0)
  }

  @inline(never) private func readNumbers(_ locked: Locked) {
    var sum = 0
    for _ in 0..<reads { sum &+= locked.number.withLock { $0 } }
    precondition(sum != 0)
  }

  @inline(never) private func readTexts(_ kept: Kept) {
    var sum = 0
    for _ in 0..<reads { sum &+= kept.text.utf8.count }
    precondition(sum != 0)
  }

  @inline(never) private func readTexts(_ locked: Locked) {
    var sum = 0
    for _ in 0..<reads { sum &+= locked.text.withLock { $0 }.utf8.count }
    precondition(sum != 0)
  }

  @inline(never) private func readDefaults(_ defaults: UserDefaults) {
    var sum = 0
    for _ in 0..<(reads / 100) { sum &+= defaults.integer(forKey: "figures.number") }
    precondition(sum != 0)
  }

  @inline(never) private func writeProperty(_ kept: Kept) {
    for number in 1...writes { kept.number = number }
  }

  @inline(never) private func writeEntry(_ cache: LMDBCache) throws {
    for number in 1...writes { try cache.set(number, forKey: "number") }
  }

  private func onTwoThreads(_ body: @escaping @Sendable (Int) -> Void) {
    DispatchQueue.concurrentPerform(iterations: 2, execute: body)
  }
}
