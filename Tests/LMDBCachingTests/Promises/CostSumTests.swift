import Foundation
import LMDBCaching
import Testing

/// Costs whose sum overflows 64 bits.
@Suite struct CostSumTests {
  let directory = CacheDirectory()

  @Test(arguments: [1, 2, 5]) func theSumComesBackFromItsGreatestValue(_ count: Int) throws {
    var cache = try directory.open()
    try cache.set("b", forKey: "b", cost: 10)
    for index in 0..<count { try cache.set("a", forKey: "a\(index)", cost: .max) }
    #expect(try cache.totalCost == .max)
    try cache.flush()
    for index in 0..<count {
      if index.isMultiple(of: 2) {
        try cache.removeValue(forKey: "a\(index)")
      } else {
        try cache.set("a", forKey: "a\(index)", cost: 0)
      }
      let expected = index + 1 < count ? Int.max : 10
      #expect(try cache.totalCost == expected, "after \(index)")
    }
    #expect(cache.memory.totalCost == 10)
    try cache.close()
    cache = try directory.open()
    #expect(try cache.totalCost == 10)
    // The limit of 100 is not exceeded.
    try cache.trim(to: .cost(100))
    #expect(try cache.value(String.self, forKey: "b") == "b")
    try cache.close()
  }

  @Test func aTrimOfCostsThatDoNotAddUpKeepsWhatFits() throws {
    let cache = try directory.open()
    for index in 0..<3 { try cache.set("a", forKey: "a\(index)", cost: .max) }
    for index in 0..<5 { try cache.set("b", forKey: "b\(index)", cost: 10) }
    try cache.trim(to: .cost(50))
    #expect(try cache.entries().map(\.key) == (0..<5).map { "b\($0)" })
    #expect(try cache.totalCost == 50)
    #expect(cache.memory.totalCost == 50)
    try cache.close()
  }
}
