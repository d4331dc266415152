import Foundation
import LMDBCaching
import TestSupport
import Testing

@Suite struct ManyKeysTests {
  let directory = CacheDirectory()

  private static func text(_ number: Int) -> String { String(repeating: "value \(number) ", count: 1 + number % 7) }

  @Test(arguments: [0, 1, 16, 17, 1_000]) func memoryAnswersInTheOrderOfTheKeys(_ count: Int) {
    let clock = ManualClock()
    let cache = MemoryCache<Int, String>(clock: .manual(clock))
    var random = SeededRandom(UInt64(count))
    for number in 0..<500 { cache.set(Self.text(number), forKey: number, expiresIn: .seconds(100)) }
    clock.advance(by: .seconds(10))
    let numbers = (0..<count).map { _ in random.below(1_000) }
    #expect(cache.values(forKeys: numbers) == numbers.map { $0 < 500 ? Self.text($0) : nil })
    let statistics = cache.statistics
    #expect(statistics.hits == numbers.count { $0 < 500 } && statistics.misses == numbers.count { $0 >= 500 })
    // Each hit is an access.
    cache.trim(to: .age(.seconds(5)))
    #expect(cache.count == Set(numbers.filter { $0 < 500 }).count)
    clock.advance(by: .seconds(90))
    #expect(cache.values(forKeys: [1, 2]) == [nil, nil])
  }

  /// A mix of pending, committed and absent keys. Short values share a growing buffer; long values are not in it.
  @Test(arguments: [0, 1, 63, 256, 257, 1_000]) func theDiskAnswersInTheOrderOfTheKeys(_ count: Int) throws {
    let cache = try directory.openDisk(neverCommitting)
    var random = SeededRandom(UInt64(count))
    let lengths = [0, 1, 13, 14, 15, 16, 17, 128, 900, 1_023, 1_024, 1_025, 2_047, 2_048, 2_049, 100_000]
    var expected: [String: Data] = [:]
    for number in 0..<600 {
      let key = "key\(number % 450)"
      expected[key] = Data(random.bytes(lengths[random.below(lengths.count)]))
      try cache.set(expected[key]!, forKey: key)
      if number == 400 { try cache.flush() }
    }
    let keys = (0..<count).map { _ in "key\(random.below(600))" }
    #expect(try cache.values(Data.self, forKeys: keys) == keys.map { expected[$0] })
    let statistics = cache.statistics
    #expect(statistics.diskHits == keys.count { expected[$0] != nil })
    #expect(statistics.misses == keys.count { expected[$0] == nil })
    for (key, value) in expected {
      var found = try #require(try cache.value(Data.self, forKey: key))
      #expect(found == value)
      // The buffer belongs to the caller.
      found.append(contentsOf: [1, 2, 3])
      #expect(found == value + [1, 2, 3])
    }
    try cache.close()
  }

  /// `nil` can be cast to any optional type.
  @Test func valuesOfAnOptionalTypeAreDecoded() throws {
    let cache = try directory.openDisk()
    try cache.set(Int?.some(7), forKey: "some")
    try cache.set(Int?.none, forKey: "none")
    #expect(try cache.values(Int?.self, forKeys: ["some", "none", "missing"]) == [7, .some(nil), nil])
    try cache.close()
  }
}
