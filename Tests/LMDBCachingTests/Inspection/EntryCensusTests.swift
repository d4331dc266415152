import Foundation
import Testing

@testable import LMDBCaching

@Suite struct EntryCensusTests {
  let directory = CacheDirectory()

  private func fill() throws -> [CacheEntry] {
    let cache = try directory.open()
    for number in 0..<400 {
      let key = [
        "user:\(number)", "user:\(number % 9):name\(number)", "img/\(number)", "plain\(number)", "a:b/c:\(number)",
      ]
      try cache.set(Data(count: number * 10), forKey: key[number % 5], cost: number)
    }
    for key in ["", ":", "user:", "user", "a:", "é:1", String(repeating: "long:", count: 200)] {
      try cache.set("text", forKey: key, cost: 3)
    }
    let entries = try cache.entries()
    try cache.close()
    return entries
  }

  /// Independently computes the first `depth` parts of a key.
  private func prefix(_ key: String, _ depth: Int) -> String {
    var (parts, current) = ([String](), "")
    for scalar in key.unicodeScalars.prefix(256) {
      current.unicodeScalars.append(scalar)
      if scalar == ":" || scalar == "/" {
        parts.append(current)
        current = ""
      }
    }
    return parts.prefix(depth).joined()
  }

  @Test(arguments: [1, 2, 3]) func entriesAreAddedUpByTheBeginningsOfTheirKeys(_ depth: Int) throws {
    let entries = try fill()
    let census = try directory.reader().census(depth: depth, greatestPrefixes: 10_000)
    var expected: [String: EntryCensus.Group] = [:]
    for entry in entries {
      var group = expected[prefix(entry.key, depth)] ?? EntryCensus.Group()
      group.entries += 1
      group.bytes += entry.size
      group.cost += entry.cost
      expected[prefix(entry.key, depth)] = group
    }
    #expect(Dictionary(uniqueKeysWithValues: census.prefixes.map { ($0.prefix, $0.group) }) == expected)
    #expect(census.prefixes.map(\.group.bytes) == census.prefixes.map(\.group.bytes).sorted(by: >))
    #expect(census.otherPrefixCount == 0 && census.otherPrefixes == EntryCensus.Group())
    #expect(census.total.entries == entries.count && census.total.bytes == entries.reduce(0) { $0 + $1.size })
    #expect(census.formats.values.reduce(0) { $0 + $1.entries } == entries.count)
    #expect(census.formats[.string]?.entries == 7)
    for count in [1, 2, 5] {
      let part = try directory.reader().census(depth: depth, greatestPrefixes: count)
      #expect(part.prefixes == Array(census.prefixes.prefix(count)))
      #expect(part.otherPrefixCount == max(0, census.prefixes.count - count))
      #expect(part.otherPrefixes.entries == census.prefixes.dropFirst(count).reduce(0) { $0 + $1.group.entries })
      #expect(part.total.entries == entries.count)
    }
    let narrow = try directory.reader().census(withPrefix: "user:", depth: depth)
    #expect(narrow.prefixes.allSatisfy { $0.prefix.hasPrefix("user:") } && narrow.total.entries == 161)
  }

  @Test func histogramsCountEveryEntryOnce() throws {
    let entries = try fill()
    let census = try directory.reader().census()
    for histogram in [census.sizes, census.ages, census.idleTimes] {
      #expect(histogram.reduce(0) { $0 + $1.group.entries } == entries.count)
    }
    #expect(census.sizes[0].limit == 0 && census.sizes[0].group.entries == entries.count { $0.size == 0 })
    #expect(census.sizes[3].group.entries == entries.count { 65...256 ~= $0.size })
    #expect(
      census.sizes.last?.limit == nil && census.ages[0].group.entries + census.ages[1].group.entries == entries.count)
  }

  @Test func anEmptyCacheHasNone() throws {
    try directory.open().close()
    let census = try directory.reader().census()
    #expect(census.total == EntryCensus.Group() && census.prefixes.isEmpty && census.formats.isEmpty)
  }
}
