import TestSupport
import Testing

@testable import LMDBCaching

/// The rank of entries that are used more than once. ``LimitTests`` trims many entries.
@Suite struct TrimTests {
  let directory = CacheDirectory()

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
    try pass(20, reading: false)
    #expect(try !burst.contains(where: cache.contains))
    #expect(try often.allSatisfy(cache.contains))
    try pass(40, reading: false)
    #expect(try !often.contains(where: cache.contains))
    try cache.close()
  }
}
