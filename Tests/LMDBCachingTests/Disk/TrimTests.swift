import TestSupport
import Testing

@testable import LMDBCaching

/// Trims larger than one transaction scans or removes.
@Suite struct TrimTests {
  let directory = CacheDirectory()
  static let count = 45_000

  /// Returns keys in random order with their costs; the first were written first.
  private func fill(_ cache: LMDBCache) throws -> [(key: String, cost: Int)] {
    var random = SeededRandom(3)
    let entries = (0..<Self.count).shuffled(using: &random).map { (key: "key\($0)", cost: random.below(100)) }
    for start in stride(from: 0, to: entries.count, by: 1_000) {
      try cache.write { batch in
        for entry in entries[start..<start + 1_000] { batch.set(entry.cost, forKey: entry.key, cost: entry.cost) }
      }
    }
    return entries
  }

  private func expect(_ cache: LMDBCache, _ entries: some Sequence<(key: String, cost: Int)>) throws {
    let found = try cache.entries()
    let expected = entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    #expect(found.map(\.key) == expected.map(\.key))
    #expect(found.map(\.cost) == expected.map(\.cost))
    #expect(try cache.count == expected.count)
    #expect(try cache.totalCost == expected.reduce(0) { $0 + $1.cost })
  }

  @Test(arguments: [7_000, 44_990, 45_000]) func theNewestStay(_ count: Int) throws {
    let cache = try directory.openDisk { $0.clock = .manual(ManualClock()) }
    let kept = Array(try fill(cache).suffix(count))
    try cache.trim(to: .count(count))
    try expect(cache, kept)
    #expect(cache.statistics.diskEvictions == Self.count - count)
    var cost = kept.reduce(0) { $0 + $1.cost }
    let limit = cost / 2
    let rest = kept.drop {
      if cost <= limit { return false }
      cost -= $0.cost
      return true
    }
    try cache.trim(to: .cost(limit))
    try expect(cache, rest)
    try cache.close()
  }

  /// Regular use prolongs an entry's life in proportion.
  @Test func whatIsUsedAgainAndAgainStaysLonger() throws {
    let clock = ManualClock()
    let cache = try directory.openDisk { $0.clock = .manual(clock) }
    let (often, burst) = ((0..<20).map { "often\($0)" }, (0..<20).map { "burst\($0)" })
    for key in often + burst { try cache.set(1, forKey: key) }
    var passing = 0
    // Besides these keys a hundred fit, so each passing entry stays for 1,000 s.
    func pass(_ rounds: Int, reading: Bool) throws {
      for _ in 0..<rounds {
        clock.advance(by: .seconds(100))
        for _ in 0..<10 {
          try cache.set(1, forKey: "passing\(passing)")
          passing += 1
        }
        if reading { for key in often { #expect(try cache.value(Int.self, forKey: key) == 1) } }
        try cache.trim(to: .count(140))
        try cache.disk.trim(to: .limits)
      }
    }
    try pass(10, reading: true)
    // Accesses in quick succession count as one use.
    for _ in 0..<10 { for key in burst { #expect(try cache.value(Int.self, forKey: key) == 1) } }
    try pass(5, reading: true)
    #expect(try burst.allSatisfy(cache.contains))
    let left = clock.now
    try pass(20, reading: false)
    #expect(try !burst.contains(where: cache.contains))
    #expect(try often.allSatisfy(cache.contains), "\(clock.now - left)")
    try pass(40, reading: false)
    #expect(try !often.contains(where: cache.contains))
    // The age counts from the last access, regardless of earlier uses.
    for key in often { try cache.set(1, forKey: key) }
    for _ in 0..<4 {
      clock.advance(by: .seconds(100))
      for key in often { #expect(try cache.value(Int.self, forKey: key) == 1) }
      try cache.disk.trim(to: .limits)
    }
    clock.advance(by: .seconds(100))
    try cache.set(1, forKey: "new")
    try cache.trim(to: .age(.seconds(50)))
    #expect(try cache.entries().map(\.key) == ["new"])
    try cache.close()
  }
}
